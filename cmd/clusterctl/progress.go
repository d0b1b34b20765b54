package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// bar shows progress: a bar on a terminal, else a line now and then, for logs.
type bar struct {
	mu   sync.Mutex // guards said; held while something is shown
	bar  *progressbar.ProgressBar
	out  io.Writer
	what string
	said time.Time
}

// lineEvery is the time between two lines without a terminal.
const lineEvery = 10 * time.Second

func newBar(cmd *cobra.Command, what string, bytes bool) *bar {
	out, ok := stderr(cmd).(*os.File)
	if !ok || !term.IsTerminal(int(out.Fd())) {
		return &bar{out: stderr(cmd), what: what, said: time.Now()}
	}
	options := []progressbar.Option{
		progressbar.OptionSetWriter(out), progressbar.OptionSetDescription(what), progressbar.OptionShowCount(),
		progressbar.OptionThrottle(100 * time.Millisecond), progressbar.OptionShowBytes(bytes), progressbar.OptionClearOnFinish(),
	}
	return &bar{bar: progressbar.NewOptions64(1, options...)}
}

// tell shows the progress.
func (b *bar) tell(done, total int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.bar == nil {
		if now := time.Now(); now.Sub(b.said) >= lineEvery {
			b.said = now
			fmt.Fprintf(b.out, "... %s: %d of %d\n", b.what, done, total)
		}
		return
	}
	b.bar.ChangeMax64(max(total, 1))
	_ = b.bar.Set64(min(done, total))
}

// end removes the bar.
func (b *bar) end() {
	if b.bar != nil {
		_ = b.bar.Finish()
	}
}
