package main

import (
	"testing"

	"lockstep/tests/kit/golden"
)

// docs/clusterctl.md is generated from the commands: `make docs`.
func TestDocumentationIsTheCommands(t *testing.T) {
	golden.Check(t, "../../docs/clusterctl.md", reference(newRoot()))
}
