package main

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"lockstep/node/process"
	"lockstep/node/status"
)

func newSupportBundle(opt *options) *cobra.Command {
	return &cobra.Command{
		Use:   "support-bundle FILE.tar.gz",
		Short: "Collect what a supporter needs to know into one file",
		Long: `Collect what a supporter needs to know into one file: the cluster's status and
placement, a description of each machine, and from every node that answers: INFO,
the settings, metrics, the end of the log, and a dump of its goroutines.

The file holds no keys, no values and no passwords. It does hold the names and
addresses of nodes. An existing file is not overwritten. missing.txt lists the
nodes that did not answer.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return opt.supportBundle(cmd, args[0]) },
	}
}

func (o *options) supportBundle(cmd *cobra.Command, path string) error {
	c, err := o.status(cmd.Context())
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, os.ErrExist) {
		return refused{fmt.Errorf("%s exists and is not overwritten", path)}
	}
	if err != nil {
		return refused{err}
	}
	b := newBundle(f, o.password)
	o.collect(cmd, c, b)
	if err := errors.Join(b.close(), f.Sync(), f.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return o.say(cmd, fmt.Sprintf("%s has %d files, of %d of %d nodes", path, b.files, b.nodes, len(c.Nodes)))
}

// collect adds everything that it can get to the bundle.
func (o *options) collect(cmd *cobra.Command, c *status.Cluster, b *bundle) {
	long := *o
	long.timeout = max(o.timeout, examineTimeout)
	b.add("about.txt", fmt.Sprintf("clusterctl %s, %s\n", process.Version, time.Now().UTC().Format(time.RFC3339)))
	b.addJSON("status.json", c)
	for _, part := range [][2]string{{"placement.json", "PLACEMENT"}, {"machines.json", "EXAMINE"}} {
		text, err := long.ask(cmd.Context(), "LOCKSTEP", part[1])
		if err != nil {
			b.lack(part[0], err)
			continue
		}
		b.add(part[0], text)
	}
	for i := range c.Nodes {
		n := &c.Nodes[i]
		var s status.Support
		text, err := long.askOne(cmd.Context(), n.AddrFor(o.secure.use), "LOCKSTEP", "SUPPORT")
		if err == nil {
			err = json.Unmarshal([]byte(text), &s)
		}
		if err != nil {
			b.lack(n.Name, err)
			continue
		}
		b.nodes++
		for _, part := range [][2]string{
			{"info.txt", s.Info}, {"config.txt", s.Config}, {"metrics.txt", s.Metrics}, {"log.txt", s.Log}, {"goroutines.txt", s.Goroutines},
		} {
			b.add("nodes/"+n.Name+"/"+part[0], part[1])
		}
	}
	if len(b.missing) > 0 {
		b.add("missing.txt", strings.Join(b.missing, "\n")+"\n")
	}
}

// bundle is a compressed tar that is being written.
type bundle struct {
	zip     *gzip.Writer
	tar     *tar.Writer
	hide    *strings.Replacer
	files   int
	nodes   int
	missing []string
	err     error
}

func newBundle(w io.Writer, password string) *bundle {
	b := &bundle{zip: gzip.NewWriter(w), hide: strings.NewReplacer()}
	if password != "" {
		b.hide = strings.NewReplacer(password, "(hidden)")
	}
	b.tar = tar.NewWriter(b.zip)
	return b
}

// add adds a file; the first error is kept for close.
func (b *bundle) add(name, text string) {
	text = b.hide.Replace(text)
	if b.err == nil {
		b.err = b.tar.WriteHeader(&tar.Header{Name: "lockstep/" + name, Mode: 0o600, Size: int64(len(text)), ModTime: time.Now()})
	}
	if b.err == nil {
		_, b.err = io.WriteString(b.tar, text)
	}
	b.files++
}

func (b *bundle) addJSON(name string, v any) {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		b.lack(name, err)
		return
	}
	b.add(name, string(data)+"\n")
}

// lack records a part that is missing.
func (b *bundle) lack(what string, err error) {
	b.missing = append(b.missing, fmt.Sprintf("%s: %v", what, err))
}

func (b *bundle) close() error { return errors.Join(b.err, b.tar.Close(), b.zip.Close()) }
