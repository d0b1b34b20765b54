package main

import (
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/spf13/cobra"
)

// probeBytesMax is how many bytes of an answer are shown.
const probeBytesMax = 4 << 10

func newProbe(opt *options) *cobra.Command {
	return &cobra.Command{
		Use:   "probe [URL]",
		Short: "Ask a node's admin port whether it is ready, for health checks",
		Long: `Ask a node's admin port whether the node is ready. This is a health check for
containers that have no other program for it, and needs no password. Without a URL
it asks http://127.0.0.1:8080/readyz. With --tls it asks by https, and --cacert,
--cert and --key apply.

Exit code: 0 the node says yes; 1 it says no (and why); 2 it does not answer.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			url := "http://127.0.0.1:8080/readyz"
			if opt.secure.use {
				url = "https://127.0.0.1:8080/readyz"
			}
			if len(args) > 0 {
				url = args[0]
			}
			client := http.Client{Timeout: opt.timeout, Transport: &http.Transport{TLSClientConfig: opt.secure.config}}
			req, err := http.NewRequestWithContext(cmd.Context(), http.MethodGet, url, nil)
			if err != nil {
				return err
			}
			answer, err := client.Do(req)
			if err != nil {
				return fmt.Errorf("%w: %w", errNoAnswer, err)
			}
			defer answer.Body.Close()
			text, err := io.ReadAll(io.LimitReader(answer.Body, probeBytesMax))
			if err != nil {
				return fmt.Errorf("%w: %w", errNoAnswer, err)
			}
			if err := opt.say(cmd, strings.TrimSpace(string(text))); err != nil {
				return err
			}
			if answer.StatusCode != http.StatusOK {
				return exitCode(exitDegraded)
			}
			return nil
		},
	}
}
