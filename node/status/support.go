package status

// Support is a node's contribution to a support bundle. Each part is a text. They contain no keys,
// values or secrets.
type Support struct {
	Node string `json:"node"`
	// Info is the reply of INFO everything. Config is the settings in the form of redis.conf, with
	// the origin of each.
	Info   string `json:"info"`
	Config string `json:"config"`
	// Metrics is a scrape, Log the end of the log, Goroutines the stacks of all goroutines.
	Metrics    string `json:"metrics"`
	Log        string `json:"log"`
	Goroutines string `json:"goroutines"`
}
