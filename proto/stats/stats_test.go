package stats

import (
	"strings"
	"testing"
)

// Scripts can invent error codes; a long one is counted, but not kept.
func TestErrorCodesAreBounded(t *testing.T) {
	s := New()
	s.CountError([]byte("-" + strings.Repeat("x", 1<<20) + "\r\n"))
	s.CountError([]byte("-SHORT one\r\n"))
	if all := s.PerError(); s.Errors() != 2 || len(all) != 1 || all[0].Prefix != "SHORT" {
		t.Errorf("%d errors, and of codes %d", s.Errors(), len(all))
	}
}
