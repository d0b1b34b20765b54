package leaderrpc

// Refusal is a final negative answer, with its reason in words: asking again without a change does
// not help. It keeps its code between nodes, so errors.Is works on a refusal that another node
// returned.
type Refusal struct {
	// Code names the reason; two refusals with one code are the same error.
	Code string `json:"code"`
	// Text is for people and says what to do.
	Text string `json:"text"`
}

// Error implements error.
func (r *Refusal) Error() string { return r.Text }

// Is reports whether target is a refusal for the same reason.
func (r *Refusal) Is(target error) bool {
	t, ok := target.(*Refusal)
	return ok && t != nil && t.Code == r.Code
}

// With returns a refusal for the same reason in other words.
func (r *Refusal) With(text string) *Refusal { return &Refusal{Code: r.Code, Text: text} }
