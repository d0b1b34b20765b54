package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"runtime/pprof"
	"strings"

	"lockstep/node/config"
	"lockstep/node/status"
)

// Support describes this node for a support bundle, as JSON of a status.Support.
func (r *Report) Support() (string, error) {
	var settings strings.Builder
	for _, e := range r.Config.Effective() {
		fmt.Fprintf(&settings, "%s %q # %s\n", e.Directive.Name, e.Value, e.Origin)
	}
	var goroutines bytes.Buffer
	if p := pprof.Lookup("goroutine"); p != nil {
		if err := p.WriteTo(&goroutines, 1); err != nil {
			return "", err
		}
	}
	hide := r.hider()
	data, err := json.Marshal(&status.Support{
		Node: r.Self.Name, Info: hide(r.Info([]string{"everything"})), Config: hide(settings.String()),
		Metrics: hide(string(r.MetricsPage())), Log: hide(string(r.LogTail.Lines())), Goroutines: hide(goroutines.String()),
	})
	return string(data), err
}

// secretLeast is the minimum length of a secret that is searched for. A shorter string would hide
// half of every text, and is no real secret.
const secretLeast = 4

// hider removes the values of secret settings from a text. No text should contain one; this is a
// second line of defence.
func (r *Report) hider() func(string) string {
	var pairs []string
	for _, p := range r.Config.Get("*") {
		if d, ok := config.Lookup(p.Name); ok && d.Has(config.Secret) && len(p.Value) >= secretLeast {
			pairs = append(pairs, p.Value, "(hidden)")
		}
	}
	return strings.NewReplacer(pairs...).Replace
}
