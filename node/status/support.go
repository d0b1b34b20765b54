package status

// Support is what a node adds to a bundle of support, each part a text. There
// are no keys, values or secrets in it.
type Support struct {
	Node string `json:"node"`
	// Info is INFO everything; Config the settings in the form of redis.conf, with
	// where each comes from.
	Info   string `json:"info"`
	Config string `json:"config"`
	// Metrics is a scrape, Log the end of the log, Goroutines what each does.
	Metrics    string `json:"metrics"`
	Log        string `json:"log"`
	Goroutines string `json:"goroutines"`
}
