package admin

import (
	"testing"

	"lockstep/proto/client"
	"lockstep/proto/stats"
)

// TestEveryRowHasItsHandler: NewTable panics if a row has no handler or two.
func TestEveryRowHasItsHandler(t *testing.T) {
	n := Node{Stats: stats.New()}
	client.NewTable(n.Handlers()...)
}
