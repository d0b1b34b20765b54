// Package box is the message from a kubelet to the program that starts a container.
package box

// Box is what a container's program runs in.
type Box struct {
	// Root is a folder that is its root.
	Root         string
	ReadOnlyRoot bool
	Mounts       []Mount
	Hostname     string
	User, Group  int
	// Groups are those that the user is in, too.
	Groups          []int
	NoNewPrivileges bool
	// Argv and Env are the program's; Argv[0] is its path in the box.
	Argv, Env []string
}

// Mount is a folder or a file that is seen in the box, too.
type Mount struct {
	// Source is a path of the machine, Target one of the box where something is.
	Source, Target string
	ReadOnly       bool
}
