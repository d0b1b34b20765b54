package status

// Host is a node's report on its machine, for the doctor. It has plain numbers without a verdict.
// -1 stands for an unknown number.
type Host struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Reachable is false if the node did not answer; the fields below are then empty.
	Reachable bool `json:"reachable"`
	// ClockMs is the machine's clock in the middle of the request, in Unix time. AheadMs is how far
	// it is ahead of the clock of the node that asked, give or take UnsureMs.
	ClockMs  int64   `json:"clock_ms"`
	AheadMs  float64 `json:"ahead_ms"`
	UnsureMs float64 `json:"unsure_ms"`
	// SyncUs are the times, in microseconds and in order, that writes of one block to the data
	// folder took until they were on disk.
	SyncUs []int64 `json:"sync_us"`
	// DiskFreeBytes and DiskBytes describe the data folder's file system.
	DiskFreeBytes int64 `json:"disk_free_bytes"`
	DiskBytes     int64 `json:"disk_bytes"`
	// Files is the limit of open files, FilesOpen the number of open ones.
	Files     int64 `json:"files"`
	FilesOpen int64 `json:"files_open"`
	// MaxClients is the setting maxclients.
	MaxClients int64 `json:"maxclients"`
	// Overcommit is vm.overcommit_memory, HugePages the mode of transparent huge
	// pages, Backlog net.core.somaxconn.
	Overcommit int64  `json:"overcommit"`
	HugePages  string `json:"huge_pages"`
	Backlog    int64  `json:"somaxconn"`
	// MemoryBytes is how much memory the process may take: all of the machine's, or the limit of
	// its container. MaxMemoryBytes is the setting, 0 if there is no limit.
	MemoryBytes    int64 `json:"memory_bytes"`
	MaxMemoryBytes int64 `json:"maxmemory_bytes"`
	// Certificates are those of the node. TLSProblem is why the current files are not in force, or
	// empty.
	Certificates []Certificate `json:"certificates,omitempty"`
	TLSProblem   string        `json:"tls_problem,omitempty"`
	// Secret describes the cluster's secret as this node has it.
	Secret Secret `json:"secret"`
}

// Secret describes how a node keeps strangers from its peer port. It does not contain the secret.
type Secret struct {
	// Source is where the secret is from: cluster-secret, cluster-secret-file, or the data folder.
	Source string `json:"source"`
	// Accepted is how many secrets are accepted: 2 during a change.
	Accepted int `json:"accepted"`
	// OpenToAll means that any program that reaches the peer port is let in and receives the
	// secret.
	OpenToAll bool `json:"open_to_all,omitempty"`
	// Reachable means that other machines can reach the peer port.
	Reachable bool `json:"reachable,omitempty"`
	// ShortPassword means that the secret was derived from requirepass, and that password is short.
	// OtherPassword means that the secret was not derived from the current requirepass.
	ShortPassword bool `json:"short_password,omitempty"`
	OtherPassword bool `json:"other_password,omitempty"`
	// Problem is why the current cluster-secret-file is not in force, or empty.
	Problem string `json:"problem,omitempty"`
}

// Certificate is a certificate of a node.
type Certificate struct {
	Use     string `json:"use"`
	File    string `json:"file"`
	Subject string `json:"subject"`
	// ExpiresMs is when it expires, in Unix time.
	ExpiresMs int64 `json:"expires_ms"`
}
