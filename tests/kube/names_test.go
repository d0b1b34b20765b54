package kube

import (
	"strings"
	"testing"
	"time"
)

// TestOddNames: two kinds of releases with one pod work beside each other: releases whose names
// YAML would read as another type, and releases whose names are as long as helm allows.
func TestOddNames(t *testing.T) {
	c := newCluster(t)
	for namespace, name := range map[string]string{"odd-on": "on", "odd-n": "n", "odd-long": strings.Repeat("long-", 10) + "end"} {
		began := time.Now()
		r := c.newRelease(t, namespace)
		r.name, r.full = name, (name + "-lockstep")
		if len(name) > 31 {
			r.full = name[:31] + "-lockstep"
		}
		r.install(1, "replicaCount=1")
		tested(r)
		r.begin()
		r.upgrade("podAnnotations.again=yes")
		r.whole(1)
		r.load.Advance(writesUsual)
		r.verify()
		r.helm("uninstall", r.name, "--wait")
		t.Logf("%s: %v", name, time.Since(began).Round(time.Second))
	}
}
