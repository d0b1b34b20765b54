package courier

// Refusal is an answer of no, with the reason in words: asking again without a
// change changes nothing. It keeps its code on its way between nodes, so
// errors.Is finds on one node what another said.
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
