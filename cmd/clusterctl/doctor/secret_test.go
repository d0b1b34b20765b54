package doctor

import (
	"strings"
	"testing"

	"lockstep/node/status"
)

func TestWeakWaysOfKeepingStrangersOutAreFound(t *testing.T) {
	for _, c := range []struct {
		name   string
		secret status.Secret
		level  Level
		says   string
	}{
		{name: "made at founding", secret: status.Secret{Source: "the data folder", Accepted: 1}},
		{name: "told, and other machines reach it", secret: status.Secret{Source: "cluster-secret", Accepted: 1, Reachable: true}},
		{"open to all", status.Secret{Accepted: 1, OpenToAll: true, Reachable: true}, Risk, "may join the cluster"},
		{"a bad file", status.Secret{Accepted: 1, Problem: "it is empty"}, Risk, "it is empty"},
		{"a change that broke off", status.Secret{Accepted: 2}, Advice, "the previous cluster secret"},
		{"a short password", status.Secret{Accepted: 1, ShortPassword: true, Reachable: true}, Advice, "a short password"},
		{name: "a short password on this machine alone", secret: status.Secret{Accepted: 1, ShortPassword: true}},
		{"another password", status.Secret{Accepted: 1, OtherPassword: true}, Advice, "is not derived from its requirepass"},
	} {
		e := &exam{hosts: []status.Host{{Name: "n1", Reachable: true, Secret: c.secret}}}
		e.secret("secret")
		switch {
		case c.level == "" && len(e.findings) > 0:
			t.Errorf("%s: %+v", c.name, e.findings)
		case c.level != "" && (len(e.findings) != 1 || e.findings[0].Level != c.level || !strings.Contains(e.findings[0].What, c.says)):
			t.Errorf("%s: %+v", c.name, e.findings)
		}
	}
}
