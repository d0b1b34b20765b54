package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"lockstep/node/config"
)

// The arguments after -- may begin with a configuration file, as those of lockstepd itself. Given
// flags take precedence over clusterctl's, and these over the file.
func TestANodeThatJoinsIsGivenAFileOrFlags(t *testing.T) {
	file := filepath.Join(t.TempDir(), "lockstep.conf")
	if err := os.WriteFile(file, []byte("dir /somewhere\njoin other:1\nnode-name old\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, given := range [][]string{{file}, {file, "--dir", "/somewhere"}, {"--dir", "/somewhere"}} {
		argv := commandLine("lockstepd", []string{"--join=a:1,b:2", "--node-name=n2", "--replace=yes"}, given)
		cfg, _, err := config.Load(argv[1:], nil, nil)
		if err != nil {
			t.Errorf("%q: %v", argv, err)
			continue
		}
		s := cfg.Current()
		if !slices.Equal(s.Join, []string{"a:1", "b:2"}) || s.NodeName != "n2" || !s.Replace || s.Dir != "/somewhere" {
			t.Errorf("%q: joins %v as %s, replaces %v, in %s", argv, s.Join, s.NodeName, s.Replace, s.Dir)
		}
	}
	argv := commandLine("lockstepd", []string{"--join=a:1"}, []string{"--join", "c:3"})
	if cfg, _, err := config.Load(argv[1:], nil, nil); err != nil || !slices.Equal(cfg.Current().Join, []string{"c:3"}) {
		t.Errorf("%q: %v", argv, err)
	}
}
