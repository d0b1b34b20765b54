package live

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// ackEvery is how often the program reports to the source how much of the stream it has
	// received.
	ackEvery = time.Second
	// silenceMax is how long the source may send nothing; it sends a ping every ten seconds.
	silenceMax = 60 * time.Second
	// beginMax is how long the source may take to write its file. It sends a sign of life every
	// second meanwhile.
	beginMax = 12 * time.Hour
)

// errAnew is returned if the source cannot continue where the stream ended.
var errAnew = errors.New("the source no longer has the part of its stream that is missing here")

// link is a connection to the source, as a replica's.
type link struct {
	conn net.Conn
	in   *bufio.Reader
	mu   sync.Mutex // guards writing
}

func dialLink(ctx context.Context, o *redis.Options) (*link, error) {
	d := &net.Dialer{Timeout: 10 * time.Second}
	conn, err := d.DialContext(ctx, "tcp", o.Addr)
	if err != nil {
		return nil, err
	}
	if o.TLSConfig != nil {
		conn = tls.Client(conn, o.TLSConfig)
	}
	l := &link{conn: conn, in: bufio.NewReaderSize(conn, 256<<10)}
	if o.Password != "" {
		args := []string{"AUTH", o.Password}
		if o.Username != "" {
			args = []string{"AUTH", o.Username, o.Password}
		}
		if _, err := l.ask(args...); err != nil {
			return nil, errors.Join(errors.New("the source refuses the password"), err, conn.Close())
		}
	}
	// Without "eof" the source sends the length of its file first.
	for _, args := range [][]string{{"PING"}, {"REPLCONF", "listening-port", "0"}, {"REPLCONF", "capa", "psync2"}} {
		if answer, err := l.ask(args...); err != nil {
			return nil, errors.Join(fmt.Errorf("the source answers %s with %q: %w", args[0], answer, err), conn.Close())
		}
	}
	return l, nil
}

func (l *link) send(args ...string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(args))
	for _, a := range args {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(a), a)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = l.conn.SetWriteDeadline(time.Now().Add(silenceMax))
	_, err := io.WriteString(l.conn, b.String())
	return err
}

// ask sends a command and returns the line of the answer.
func (l *link) ask(args ...string) (string, error) {
	if err := l.send(args...); err != nil {
		return "", err
	}
	return l.line(silenceMax)
}

// line reads a line that is not empty. The source sends empty lines while it works, and may be
// silent for at most silenceMax.
func (l *link) line(patience time.Duration) (string, error) {
	deadline := time.Now().Add(patience)
	for {
		next := time.Now().Add(silenceMax)
		if next.After(deadline) {
			next = deadline
		}
		_ = l.conn.SetReadDeadline(next)
		b, err := l.in.ReadSlice('\n')
		text := strings.TrimSpace(string(b))
		switch {
		case err != nil:
			return "", err
		case strings.HasPrefix(text, "-"):
			return text, errors.New(text[1:])
		case text != "":
			return text, nil
		}
	}
}

// fullResync asks for everything, and writes the source's file to f. It returns the position at which
// the stream continues.
func (l *link) fullResync(f *os.File, told func(done, total int64)) (id string, offset int64, err error) {
	answer, err := l.ask("PSYNC", "?", "-1")
	words := strings.Fields(answer)
	if err != nil || len(words) != 3 || words[0] != "+FULLRESYNC" {
		return "", 0, fmt.Errorf("the source does not let itself be copied: %q: %w", answer, err)
	}
	if offset, err = strconv.ParseInt(words[2], 10, 64); err != nil {
		return "", 0, err
	}
	head, err := l.line(beginMax)
	if err != nil {
		return "", 0, fmt.Errorf("the source did not send its file: %w", err)
	}
	size, err := strconv.ParseInt(strings.TrimPrefix(head, "$"), 10, 64)
	if err != nil {
		return "", 0, fmt.Errorf("the source's file begins with %q", head)
	}
	for done := int64(0); done < size; {
		_ = l.conn.SetReadDeadline(time.Now().Add(silenceMax))
		n, err := io.CopyN(f, l.in, min(size-done, 1<<20))
		if done += n; err != nil {
			return "", 0, fmt.Errorf("the source's file: %w", err)
		}
		told(done, size)
	}
	return words[1], offset, nil
}

// goOn asks for the stream after an offset.
func (l *link) goOn(id string, offset int64) (newID string, err error) {
	answer, err := l.ask("PSYNC", id, strconv.FormatInt(offset+1, 10))
	words := strings.Fields(answer)
	switch {
	case err != nil:
		return "", err
	case len(words) == 0 || words[0] != "+CONTINUE":
		return "", errAnew
	case len(words) > 1:
		return words[1], nil
	}
	return id, nil
}

// receive reads the stream until the link breaks.
func (l *link) receive(ctx context.Context, to io.Writer, received *atomic.Int64) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(ctx, func() { _ = l.conn.Close() })()
	go func() {
		t := time.NewTicker(ackEvery)
		defer t.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-t.C:
				_ = l.acknowledge(received.Load())
			}
		}
	}()
	buf := make([]byte, 256<<10)
	for {
		_ = l.conn.SetReadDeadline(time.Now().Add(silenceMax))
		n, err := l.in.Read(buf)
		if n > 0 {
			if _, err := to.Write(buf[:n]); err != nil {
				return err
			}
			received.Add(int64(n))
		}
		if err != nil {
			return errLinkBroken{err}
		}
	}
}

// errLinkBroken is an error after which the link may be restored.
type errLinkBroken struct{ error }

// acknowledge reports to the source how much of the stream has been received.
func (l *link) acknowledge(offset int64) error {
	return l.send("REPLCONF", "ACK", strconv.FormatInt(offset, 10))
}
