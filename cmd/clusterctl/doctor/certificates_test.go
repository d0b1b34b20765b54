package doctor

import (
	"strings"
	"testing"
	"time"

	"lockstep/node/status"
)

func TestCertificatesThatEndSoonAreFound(t *testing.T) {
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		left  time.Duration
		level Level
		says  string
	}{
		{-time.Hour, Ill, "has expired"}, {29*24*time.Hour + time.Hour, Risk, "expires in 29 days"}, {31 * 24 * time.Hour, "", ""},
	} {
		h := status.Host{Name: "n1", Reachable: true, ClockMs: now.UnixMilli(), Certificates: []status.Certificate{{Use: "node", File: "/c", Subject: "CN=n1", ExpiresMs: now.Add(c.left).UnixMilli()}}}
		e := &exam{hosts: []status.Host{h}}
		e.certificates("certificates")
		switch {
		case c.level == "" && len(e.findings) > 0:
			t.Errorf("%v left: %+v", c.left, e.findings)
		case c.level != "" && (len(e.findings) != 1 || e.findings[0].Level != c.level || !strings.Contains(e.findings[0].What, c.says)):
			t.Errorf("%v left: %+v", c.left, e.findings)
		}
	}
	e := &exam{hosts: []status.Host{{Name: "n1", Reachable: true, TLSProblem: "no key"}}}
	e.certificates("certificates")
	if len(e.findings) != 1 || e.findings[0].Level != Risk {
		t.Errorf("%+v", e.findings)
	}
}
