// Package box is the message from a kubelet to the program that starts a container.
package box

// Box describes the environment in which a container's program runs.
type Box struct {
	// Root is the folder that becomes the root of the file system.
	Root         string
	ReadOnlyRoot bool
	Mounts       []Mount
	Hostname     string
	User, Group  int
	// Groups are the supplementary groups of the user.
	Groups          []int
	NoNewPrivileges bool
	// Argv and Env are for the program. Argv[0] is its path in the box.
	Argv, Env []string
}

// Mount is a folder or a file of the machine that is mounted in the box.
type Mount struct {
	// Source is a path on the machine. Target is an existing path in the box.
	Source, Target string
	ReadOnly       bool
}
