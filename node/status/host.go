package status

// Host is what a node reports on the machine that it runs on, for the doctor:
// numbers as they are, not judged. -1 stands for what could not be found out.
type Host struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Reachable is false when the node did not answer; what follows is then empty.
	Reachable bool `json:"reachable"`
	// ClockMs is the machine's clock in the middle of the question, in Unix time,
	// and AheadMs how far it is before the clock of the node that asked, give or
	// take UnsureMs.
	ClockMs  int64   `json:"clock_ms"`
	AheadMs  float64 `json:"ahead_ms"`
	UnsureMs float64 `json:"unsure_ms"`
	// SyncUs are how long writes of one block to the data folder took until they
	// were on disk, in microseconds, in order.
	SyncUs []int64 `json:"sync_us"`
	// DiskFreeBytes and DiskBytes are those of the data folder's file system.
	DiskFreeBytes int64 `json:"disk_free_bytes"`
	DiskBytes     int64 `json:"disk_bytes"`
	// Files is the limit of open files, FilesOpen how many are.
	Files     int64 `json:"files"`
	FilesOpen int64 `json:"files_open"`
	// MaxClients is the setting.
	MaxClients int64 `json:"maxclients"`
	// Overcommit is vm.overcommit_memory, HugePages the mode of transparent huge
	// pages, Backlog net.core.somaxconn.
	Overcommit int64  `json:"overcommit"`
	HugePages  string `json:"huge_pages"`
	Backlog    int64  `json:"somaxconn"`
	// MemoryBytes is what the process may take: the machine's, or the limit of its
	// container. MaxMemoryBytes is the setting, 0: none.
	MemoryBytes    int64 `json:"memory_bytes"`
	MaxMemoryBytes int64 `json:"maxmemory_bytes"`
	// Certificates are those of the node, TLSProblem why the files as they are now
	// are not in force; empty: they are.
	Certificates []Certificate `json:"certificates,omitempty"`
	TLSProblem   string        `json:"tls_problem,omitempty"`
	// Secret is the cluster's, as this node has it.
	Secret Secret `json:"secret"`
}

// Secret tells how a node keeps strangers from its peer port, without the secret.
type Secret struct {
	// Source is where it is from: cluster-secret, cluster-secret-file, or the data
	// folder.
	Source string `json:"source"`
	// Accepted is how many are accepted: 2 while it is changed.
	Accepted int `json:"accepted"`
	// OpenToAll: whoever reaches the peer port is let in and handed the secret.
	OpenToAll bool `json:"open_to_all,omitempty"`
	// Reachable: other machines can reach the peer port.
	Reachable bool `json:"reachable,omitempty"`
	// ShortPassword: the secret was derived from requirepass, and that is short.
	// OtherPassword: it was not derived from requirepass as that is now.
	ShortPassword bool `json:"short_password,omitempty"`
	OtherPassword bool `json:"other_password,omitempty"`
	// Problem is why cluster-secret-file is not in force as it is now; empty: it is.
	Problem string `json:"problem,omitempty"`
}

// Certificate is one that a node has.
type Certificate struct {
	Use     string `json:"use"`
	File    string `json:"file"`
	Subject string `json:"subject"`
	// ExpiresMs is when, in Unix time.
	ExpiresMs int64 `json:"expires_ms"`
}
