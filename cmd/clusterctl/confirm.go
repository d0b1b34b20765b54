package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// confirmation is the flag --yes of a verb that destroys something.
type confirmation struct{ yes bool }

func (c *confirmation) flag(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&c.yes, "yes", "y", false, "do not ask")
}

var errNotAsked = errors.New("nothing was done: there is no terminal to ask at; pass --yes if you are sure")

// ask asks the person at the terminal; without one it refuses.
func (c *confirmation) ask(cmd *cobra.Command, question string) error {
	if c.yes {
		return nil
	}
	if in, ok := cmd.InOrStdin().(*os.File); !ok || !term.IsTerminal(int(in.Fd())) {
		return refused{errNotAsked}
	}
	fmt.Fprintf(stderr(cmd), "%s [yes/no] ", question)
	answer, err := bufio.NewReader(cmd.InOrStdin()).ReadString('\n')
	if answer = strings.TrimSpace(answer); err != nil || answer != "yes" && answer != "y" {
		return refused{errors.New("nothing was done: the answer was not yes")}
	}
	return nil
}
