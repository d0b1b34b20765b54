package commands_test

import (
	"bytes"
	"testing"

	"lockstep/engine/commands"
	"lockstep/tests/kit/cmdtest"
)

func TestSecretsAreHidden(t *testing.T) {
	for line, want := range map[string]string{
		"auth pw":                                 "auth *",
		"auth u pw":                               "auth * *",
		"hello 3 auth u pw setname n":             "hello 3 auth * * setname n",
		"hello 3 setname auth auth u pw":          "hello 3 setname auth auth * *",
		"hello 3 auth u pw auth u2 pw2":           "hello 3 auth * * auth * *",
		"hello 3 nothing auth u pw":               "hello 3 nothing auth * *",
		"hello 3 auth u":                          "hello 3 auth *",
		"migrate h p k 0 1 auth pw auth2 u pw":    "migrate h p k 0 1 auth * auth2 * *",
		"migrate h p k 0 1 copy auth2 auth pw":    "migrate h p k 0 1 copy auth2 * *",
		"migrate h p k 0 1 auth pw keys auth a b": "migrate h p k 0 1 auth * keys auth a b",
		"config set maxmemory 1 requirepass pw":   "config set maxmemory 1 requirepass *",
		"acl setuser ann on >pw":                  "acl setuser ann * *",
	} {
		args := cmdtest.Words(line)
		spec, _ := commands.Lookup(args)
		for _, i := range spec.Secrets(args) {
			args[i] = []byte("*")
		}
		if got := string(bytes.Join(args, []byte(" "))); got != want {
			t.Errorf("%s, not %s", got, want)
		}
	}
}
