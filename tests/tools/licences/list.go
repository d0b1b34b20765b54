package licences

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// module is a module with packages that are linked into a program.
type module struct {
	Path, Version, Dir string
	// licence is the short name of its licence, text the contents of its licence files.
	licence string
	text    string
}

// linked returns the modules that are linked into the programs of a release, in order.
func linked() ([]*module, error) {
	found := map[string]*module{}
	for _, arch := range []string{"amd64", "arm64"} {
		if err := addLinked(found, arch); err != nil {
			return nil, err
		}
	}
	var all []*module
	for _, m := range found {
		if err := m.read(); err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	slices.SortFunc(all, func(a, b *module) int { return cmp.Compare(a.Path, b.Path) })
	return all, nil
}

// addLinked adds the modules of the programs for one architecture.
func addLinked(found map[string]*module, arch string) error {
	cmd := exec.Command("go", "list", "-deps", "-json=Module,Standard", "-tags", "hashicorpmetrics", "lockstep/cmd/...")
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH="+arch, "GOFLAGS=", "CGO_ENABLED=0")
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("go list: %w", err)
	}
	for in := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct{ Module *module }
		if err := in.Decode(&p); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if m := p.Module; m != nil && m.Version != "" && found[m.Path] == nil {
			found[m.Path] = m
		}
	}
}

// read reads the module's licence and notice.
func (m *module) read() error {
	entries, err := os.ReadDir(m.Dir)
	if err != nil {
		return err
	}
	var texts []string
	for _, e := range entries {
		name, _, _ := strings.Cut(strings.ToUpper(e.Name()), ".")
		if e.IsDir() || !slices.Contains([]string{"LICENSE", "LICENCE", "COPYING", "NOTICE", "LICENSE-MIT"}, name) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(m.Dir, e.Name()))
		if err != nil {
			return err
		}
		texts = append(texts, tidy(string(text)))
	}
	m.text = strings.Join(texts, "\n\n")
	if m.licence = name(m.text); m.licence == "" {
		return fmt.Errorf("%s: nobody knows its licence", m.Path)
	}
	return nil
}

// tidy removes differences between files with the same text.
func tidy(text string) string {
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " \t\f")
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n")
}

// name is the short name (SPDX) of the licence with a text, or "" if it is not one that may be used
// here.
func name(text string) string {
	words := strings.Join(strings.Fields(text), " ")
	for _, known := range []struct{ name, words string }{
		{"Apache-2.0", "Apache License Version 2.0, January 2004"},
		{"MPL-2.0", "Mozilla Public License"},
		{"MIT", "Permission is hereby granted, free of charge, to any person obtaining a copy"},
		{"ISC", "Permission to use, copy, modify, and/or distribute this software for any purpose"},
		{"ISC", "Permission to use, copy, modify, and distribute this software for any purpose"},
		{"BSD-3-Clause", "may be used to endorse or promote products derived from this software"},
		{"BSD-2-Clause", "Redistributions in binary form must reproduce the above copyright"},
		{"CC0-1.0", "CC0 1.0 Universal"},
		{"Unlicense", "This is free and unencumbered software released into the public domain"},
	} {
		if strings.Contains(words, known.words) {
			return known.name
		}
	}
	return ""
}

// page returns docs/THIRD_PARTY.md.
func page(all []*module) string {
	var b strings.Builder
	b.WriteString("# What others have written\n\nMade by `make docs` from the modules that are linked into `lockstepd` and `clusterctl`.\n" +
		"Their terms follow; modules whose terms are the same word by word stand together.\n\n| module | version | licence |\n|---|---|---|\n")
	groups := map[string][]string{}
	var texts []string
	for _, m := range all {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", m.Path, m.Version, m.licence)
		if groups[m.text] == nil {
			texts = append(texts, m.text)
		}
		groups[m.text] = append(groups[m.text], m.Path)
	}
	b.WriteString("| the Go standard library | | BSD-3-Clause, as golang.org/x/sys |\n")
	for _, text := range texts {
		fmt.Fprintf(&b, "\n## %s\n\n", strings.Join(groups[text], ", "))
		for line := range strings.SplitSeq(text, "\n") {
			b.WriteString(strings.TrimRight("    "+line, " ") + "\n")
		}
	}
	return b.String()
}
