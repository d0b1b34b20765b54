package licences

import (
	"strings"
	"testing"

	"lockstep/tests/kit/golden"
)

func TestTheListIsTrue(t *testing.T) {
	all, err := linked()
	if err != nil {
		t.Fatal(err)
	}
	text := page(all)
	// The list could be wrong: these modules are certainly linked.
	for _, sure := range []string{"github.com/hashicorp/raft |", "go.etcd.io/bbolt |", "golang.org/x/sys |"} {
		if !strings.Contains(text, "| "+sure) {
			t.Errorf("%s is not in the list", sure)
		}
	}
	golden.Check(t, "../../../docs/THIRD_PARTY.md", text)
}

func TestLicencesAreKnownByTheirWords(t *testing.T) {
	for text, want := range map[string]string{
		"Apache License\n   Version 2.0, January 2004":                                                    "Apache-2.0",
		"MIT License\n\nPermission is hereby granted, free\nof charge, to any person obtaining a copy of": "MIT",
		"GNU GENERAL PUBLIC LICENSE":                                                                      "",
		"":                                                                                                "",
	} {
		if got := name(text); got != want {
			t.Errorf("%q is %q", text, got)
		}
	}
}
