package admin

import (
	"testing"

	"lockstep/proto/client"
	"lockstep/proto/stats"
)

// TestEveryRowHasItsHandler: NewTable panics where a row has none or two.
func TestEveryRowHasItsHandler(t *testing.T) {
	n := Node{Stats: stats.New()}
	client.NewTable(n.Handlers()...)
}
