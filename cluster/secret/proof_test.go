package secret

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"lockstep/tests/kit/certs"
)

// patience bounds the waits of a test.
const patience = 20 * time.Second

func listOf(t testing.TB, texts ...string) List {
	t.Helper()
	list, err := Parse(strings.Join(texts, " "))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

const (
	textA = "the-first-secret-of-the-tests"
	textB = "the-second-secret-of-the-tests"
	textC = "the-third-secret-of-the-tests"
)

// pipe returns both ends of a TCP connection, each with a deadline.
func pipe(t testing.TB) (dialled, accepted net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if dialled, err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if accepted, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []net.Conn{dialled, accepted} {
		_ = c.SetDeadline(time.Now().Add(patience))
		t.Cleanup(func() { c.Close() })
	}
	return dialled, accepted
}

// side is the result of one side of a handshake.
type side struct {
	*Conn
	err error
}

// shake does a handshake over a connection. A side that fails closes its end.
func shake(dialled, accepted net.Conn, by, to List, admits bool, binding []byte) (dialling, accepting side) {
	done := make(chan side, 1)
	go func() {
		conn, err := Accept(accepted, to, admits, binding)
		if err != nil {
			accepted.Close()
		}
		done <- side{conn, err}
	}()
	conn, err := Dial(dialled, by, binding)
	if err != nil {
		dialled.Close()
	}
	return side{conn, err}, <-done
}

func TestNodesGoOnOnlyWithASecretInCommon(t *testing.T) {
	a, b, c := textA, textB, textC
	for _, row := range []struct {
		name       string
		by, to     []string
		admits     bool
		proved     string
		dial, take error
	}{
		{name: "the same", by: []string{a}, to: []string{a}, proved: a},
		{name: "another", by: []string{a}, to: []string{b}, dial: ErrClosed, take: ErrUnproved},
		{name: "another, where strangers are admitted", by: []string{a}, to: []string{b}, admits: true, dial: ErrClosed, take: ErrUnproved},
		{name: "the dialler was told the next", by: []string{b, a}, to: []string{a}, proved: a},
		{name: "the acceptor was told the next", by: []string{a}, to: []string{b, a}, proved: a},
		{name: "both were told the next", by: []string{b, a}, to: []string{b, a}, proved: b},
		{name: "the acceptor has forgotten the last", by: []string{b, a}, to: []string{b}, proved: b},
		{name: "the dialler has forgotten the last", by: []string{b}, to: []string{b, a}, proved: b},
		{name: "both in another order", by: []string{a, b}, to: []string{b, a}, proved: a},
		{name: "nothing in common", by: []string{a, b}, to: []string{c}, dial: ErrClosed, take: ErrUnproved},
		{name: "the dialler knows none", to: []string{a}, dial: ErrAsks, take: ErrStranger},
		{name: "the dialler knows none and is admitted", to: []string{a}, admits: true},
		{name: "none knows any", dial: ErrAsks, take: ErrStranger},
		{name: "none knows any, and strangers are admitted", admits: true},
		{name: "the acceptor knows none", by: []string{a}, dial: ErrClosed, take: ErrNoSecret},
		{name: "the acceptor knows none and admits strangers", by: []string{a}, admits: true, dial: ErrClosed, take: ErrNoSecret},
	} {
		t.Run(row.name, func(t *testing.T) {
			dialled, accepted := pipe(t)
			d, a := shake(dialled, accepted, listOf(t, row.by...), listOf(t, row.to...), row.admits, nil)
			if !errors.Is(d.err, row.dial) || !errors.Is(a.err, row.take) {
				t.Fatalf("the dialler: %v, want %v; the acceptor: %v, want %v", d.err, row.dial, a.err, row.take)
			}
			if d.err != nil {
				return
			}
			for _, s := range []side{d, a} {
				got := ""
				if s.Proved != nil {
					got = s.Proved.Text()
				}
				if got != row.proved {
					t.Errorf("proved %q, want %q", got, row.proved)
				}
			}
			exchange(t, d, a)
		})
	}
}

// exchange sends something in both directions.
func exchange(t *testing.T, d, a io.ReadWriter) {
	t.Helper()
	for _, way := range [][2]io.ReadWriter{{d, a}, {a, d}} {
		for _, n := range []int{1, 5, recordMax, 3*recordMax + 17} {
			sent := bytes.Repeat([]byte("lockstep"), n/8+1)[:n]
			failed := make(chan error, 1)
			go func() {
				_, err := way[0].Write(sent)
				failed <- err
			}()
			got := make([]byte, n)
			if _, err := io.ReadFull(way[1], got); err != nil || !bytes.Equal(got, sent) {
				t.Fatalf("%d bytes: %v", n, err)
			}
			if err := <-failed; err != nil {
				t.Fatal(err)
			}
		}
	}
}

// recorded records what is read from a connection and written to it.
type recorded struct {
	net.Conn
	read, written []byte
}

func (r *recorded) Read(p []byte) (int, error) {
	n, err := r.Conn.Read(p)
	r.read = append(r.read, p[:n]...)
	return n, err
}

func (r *recorded) Write(p []byte) (int, error) {
	r.written = append(r.written, p...)
	return r.Conn.Write(p)
}

// TestAStrangerIsToldNothing: whatever a stranger sends, it gets back a hello with a nonce, or
// nothing at all.
func TestAStrangerIsToldNothing(t *testing.T) {
	hello := Magic + strings.Repeat("n", keyBytes)
	for name, said := range map[string]string{
		"nothing": "", "a byte": "x", "half of a hello": hello[:20], "another protocol": "GET / HTTP/1.1\r\n\r\n", "the old preface": "LSP\x01\x01\x00\x00\x00\x00\x00\x00\x00",
		"no proof": hello + "\x00", "a wrong proof": hello + "\x01" + strings.Repeat("p", keyBytes),
		"two wrong proofs": hello + "\x02" + strings.Repeat("p", 2*keyBytes), "too many proofs": hello + "\xff" + strings.Repeat("p", 300*keyBytes),
		"half of a proof": hello + "\x01" + strings.Repeat("p", keyBytes/2),
	} {
		dialled, accepted := pipe(t)
		done := make(chan error, 1)
		go func() {
			_, err := Accept(accepted, listOf(t, textB, textC), false, nil)
			accepted.Close()
			done <- err
		}()
		go func() { // the acceptor may close before all is written
			_, _ = dialled.Write([]byte(said))
			_ = dialled.(*net.TCPConn).CloseWrite()
		}()
		told, _ := io.ReadAll(dialled)
		if err := <-done; err == nil {
			t.Errorf("%s: let in", name)
		}
		if len(told) > 0 && (len(told) != len(Magic)+keyBytes || string(told[:len(Magic)]) != Magic) {
			t.Errorf("%s: told %q", name, told)
		}
	}
}

// TestNoNonceComesTwice: a proof is only as fresh as the nonces.
func TestNoNonceComesTwice(t *testing.T) {
	seen := map[[keyBytes]byte]bool{}
	for range 100 {
		nonce, err := sendHello(discard{})
		if err != nil || seen[nonce] {
			t.Fatal("a nonce came again", err)
		}
		seen[nonce] = true
	}
}

type discard struct{ net.Conn }

func (discard) Write(p []byte) (int, error) { return len(p), nil }

func TestAHandshakeThatIsReplayedProvesNothing(t *testing.T) {
	list := listOf(t, textB)
	dialled, accepted := pipe(t)
	tap := &recorded{Conn: dialled}
	d, a := shake(tap, accepted, list, list, false, nil)
	if d.err != nil || a.err != nil {
		t.Fatal(d.err, a.err)
	}
	// Replay to the acceptor all that the dialler sent.
	again, fresh := pipe(t)
	if _, err := again.Write(tap.written); err != nil {
		t.Fatal(err)
	}
	if _, err := Accept(fresh, list, false, nil); !errors.Is(err, ErrUnproved) {
		t.Errorf("the acceptor took a replayed proof: %v", err)
	}
	// Replay to the dialler all that the acceptor sent.
	again, fresh = pipe(t)
	if _, err := again.Write(tap.read); err != nil {
		t.Fatal(err)
	}
	if _, err := Dial(fresh, list, nil); !errors.Is(err, ErrUnproved) {
		t.Errorf("the dialler took a replayed proof: %v", err)
	}
}

// TestAProofThatIsReflectedProvesNothing: a stranger sends a node's own bytes back to it, on the
// same connection or on one to the node itself.
func TestAProofThatIsReflectedProvesNothing(t *testing.T) {
	list := listOf(t, textB)
	dialled, mirror := pipe(t)
	go func() {
		said := make([]byte, len(Magic)+keyBytes+1+keyBytes)
		if _, err := io.ReadFull(mirror, said[:len(Magic)+keyBytes]); err != nil {
			return
		}
		_, _ = mirror.Write(said[:len(Magic)+keyBytes])
		proof := said[len(Magic)+keyBytes:]
		_, _ = io.ReadFull(mirror, proof)
		proof[0] = 0 // the first of the dialler's proofs is the accepted one
		_, _ = mirror.Write(proof)
	}()
	if _, err := Dial(dialled, list, nil); !errors.Is(err, ErrUnproved) {
		t.Errorf("the dialler took its own proof: %v", err)
	}
	// The acceptor gets its own nonce back, and a proof that another acceptor has made for it.
	stranger, accepted := pipe(t)
	done := make(chan error, 1)
	go func() {
		_, err := Accept(accepted, list, false, nil)
		done <- err
	}()
	if _, err := stranger.Write([]byte(Magic + strings.Repeat("n", keyBytes))); err != nil {
		t.Fatal(err)
	}
	var nonce [keyBytes]byte
	if _, err := io.ReadFull(stranger, make([]byte, len(Magic))); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(stranger, nonce[:]); err != nil {
		t.Fatal(err)
	}
	tr := transcript{dialler: [keyBytes]byte(bytes.Repeat([]byte("n"), keyBytes)), acceptor: nonce}
	if _, err := stranger.Write(append([]byte{1}, tr.with(list[0]).proof(acceptor)...)); err != nil {
		t.Fatal(err)
	}
	if err := <-done; !errors.Is(err, ErrUnproved) {
		t.Errorf("the acceptor took the proof of an acceptor: %v", err)
	}
}

// TestAManInTheMiddleGetsNowhere: an attacker who relays a whole handshake between two nodes cannot
// change, repeat, drop or invent anything after it.
func TestAManInTheMiddleGetsNowhere(t *testing.T) {
	list := listOf(t, textB)
	for name, spoil := range map[string]func(first, second []byte) []byte{
		"a changed byte":        func(a, b []byte) []byte { a[len(a)-1] ^= 1; return append(a, b...) },
		"a changed length":      func(a, b []byte) []byte { a[1]++; return append(a, b...) },
		"a record twice":        func(a, _ []byte) []byte { return append(slices.Clone(a), a...) },
		"a record left out":     func(_, b []byte) []byte { return b },
		"records changed round": func(a, b []byte) []byte { return append(slices.Clone(b), a...) },
		"a record of its own":   func(_, _ []byte) []byte { return append([]byte{0, 40}, bytes.Repeat([]byte{7}, 40)...) },
		"an empty record":       func(_, _ []byte) []byte { return append([]byte{0, 16}, make([]byte, 16)...) },
		"nothing but a length":  func(_, _ []byte) []byte { return []byte{0, 0} },
		"an overlong record":    func(_, _ []byte) []byte { return append([]byte{255, 255}, make([]byte, 1<<16)...) },
		"plain text":            func(_, _ []byte) []byte { return []byte("FLUSHALL\r\n") },
	} {
		dialled, middle := pipe(t)
		tap := &recorded{Conn: dialled}
		d, a := shake(tap, middle, list, list, false, nil)
		if d.err != nil || a.err != nil {
			t.Fatal(d.err, a.err)
		}
		// The attacker, not the acceptor, gets the records that the dialler seals.
		first, second := sealedBy(t, d, "to whom it may concern"), sealedBy(t, d, "yours sincerely")
		victim := a.Conn.Conn.(*records)
		near, far := pipe(t)
		victim.from.Reset(far)
		go func() {
			_, _ = near.Write(spoil(first, second))
			_ = near.(*net.TCPConn).CloseWrite()
		}()
		got, err := io.ReadAll(a)
		if err == nil || strings.Contains(string(got), "yours") || strings.Contains(string(got), "FLUSHALL") {
			t.Errorf("%s: read %q, %v", name, got, err)
		}
		if _, err := a.Read(make([]byte, 1)); err == nil {
			t.Errorf("%s: the connection goes on", name)
		}
	}
}

// sealedBy returns the sealed record of a text.
func sealedBy(t *testing.T, d side, text string) []byte {
	t.Helper()
	tap := &recorded{Conn: discard{}}
	conn := d.Conn.Conn.(*records)
	raw := conn.Conn
	conn.Conn = tap
	defer func() { conn.Conn = raw }()
	if _, err := d.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(tap.written, []byte(text)) {
		t.Error("the text travels as it is")
	}
	return tap.written
}

// TestAProofIsBoundToItsTLSConnection: an attacker with a certificate of the same authority relays
// the proof from one TLS connection to another.
func TestAProofIsBoundToItsTLSConnection(t *testing.T) {
	pair := certs.NewAuthority(t, "lockstep").Issue(certs.Wish{Names: []string{"node"}})
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		list := listOf(t, textB)
		first, second := secured(t, &pair, version), secured(t, &pair, version)
		if bytes.Equal(first.binding, second.binding) {
			t.Fatal("two connections have the same exporter")
		}
		d, a := shake(first.dialled, first.accepted, list, list, false, first.binding)
		if d.err != nil || a.err != nil {
			t.Fatal(d.err, a.err)
		}
		exchange(t, d, a)
		done := make(chan error, 1)
		other := secured(t, &pair, version)
		go func() {
			_, err := Accept(second.accepted, list, false, second.binding)
			second.accepted.Close()
			done <- err
		}()
		go func() { _, _ = io.Copy(second.dialled, other.accepted) }()
		go func() {
			_, _ = io.Copy(other.accepted, second.dialled)
			other.accepted.Close()
		}()
		if _, err := Dial(other.dialled, list, other.binding); !errors.Is(err, ErrClosed) {
			t.Errorf("TLS %x: the dialler goes on: %v", version, err)
		}
		if err := <-done; !errors.Is(err, ErrUnproved) {
			t.Errorf("TLS %x: the acceptor took a proof of another connection: %v", version, err)
		}
	}
}

// TestAProofForTLSIsNoneWithout: an attacker cannot remove TLS between two nodes.
func TestAProofForTLSIsNoneWithout(t *testing.T) {
	list := listOf(t, textB)
	dialled, accepted := pipe(t)
	done := make(chan error, 1)
	go func() {
		_, err := Accept(accepted, list, false, nil)
		accepted.Close()
		done <- err
	}()
	if _, err := Dial(dialled, list, []byte("an exporter")); !errors.Is(err, ErrClosed) {
		t.Errorf("the dialler: %v", err)
	}
	if err := <-done; !errors.Is(err, ErrUnproved) {
		t.Errorf("the acceptor: %v", err)
	}
}

// tlsPair is a TLS connection and the bytes that bind a proof to it.
type tlsPair struct {
	dialled, accepted *tls.Conn
	binding           []byte
}

func secured(t *testing.T, pair *certs.Pair, version uint16) tlsPair {
	t.Helper()
	raw, taken := pipe(t)
	cfg := certs.ClientTLS(t, pair)
	cfg.InsecureSkipVerify, cfg.MinVersion, cfg.MaxVersion = true, version, version
	p := tlsPair{dialled: tls.Client(raw, cfg), accepted: tls.Server(taken, cfg)}
	done := make(chan error, 1)
	go func() { done <- p.accepted.Handshake() }()
	if err := errors.Join(p.dialled.Handshake(), <-done); err != nil {
		t.Fatal(err)
	}
	state := p.dialled.ConnectionState()
	var err error
	if p.binding, err = state.ExportKeyingMaterial(ExporterLabel, nil, BindingBytes); err != nil {
		t.Fatal(err)
	}
	return p
}

// TestWhoIsDialledByMistakeIsNamed: the error also comes at once.
func TestWhoIsDialledByMistakeIsNamed(t *testing.T) {
	for name, row := range map[string]struct {
		answer, says string
		is           error
	}{
		"a node's port for clients": {"-" + ClientPort(17001) + "\r\n", "this port is for clients; nodes meet at the peer port, 17001", ErrOtherPort},
		"a port for clients":        {"-ERR unknown command 'LSP2', with args beginning with: \r\n", "this port is for clients", ErrOtherPort},
		"one that wants a password": {"-NOAUTH Authentication required.\r\n", "this port is for clients", ErrOtherPort},
		"an HTTP port":              {"HTTP/1.1 400 Bad Request\r\n\r\n", "this port speaks HTTP", ErrOtherPort},
		"a port under TLS":          {"\x15\x03\x01\x00\x02\x02\x16", "it speaks TLS", ErrNotPeer},
		"something else":            {"SSH-2.0-OpenSSH_9.6\r\n", "it does not speak as a node does", ErrNotPeer},
	} {
		dialled, accepted := pipe(t)
		go func() {
			_, _ = io.ReadFull(accepted, make([]byte, len(Magic)))
			_, _ = accepted.Write([]byte(row.answer))
		}()
		began := time.Now()
		_, err := Dial(dialled, listOf(t, textB), nil)
		if !errors.Is(err, row.is) || !strings.Contains(fmt.Sprint(err), row.says) {
			t.Errorf("%s: %v", name, err)
		}
		if took := time.Since(began); took > patience/2 {
			t.Errorf("%s: it took %v", name, took)
		}
	}
}

// FuzzAccept: whatever a stranger sends, the acceptor ends with an error and sends no more than its
// hello.
func FuzzAccept(f *testing.F) {
	hello := Magic + strings.Repeat("n", keyBytes)
	for _, s := range []string{"", "L", Magic, hello, hello + "\x00", hello + "\x01", hello + "\x02" + strings.Repeat("p", 2*keyBytes), hello + "\x03", "\x16\x03\x01"} {
		f.Add([]byte(s), true)
		f.Add([]byte(s), false)
	}
	list := listOf(f, textB, textC)
	f.Fuzz(func(t *testing.T, said []byte, tls bool) {
		var binding []byte
		if tls {
			binding = []byte("an exporter")
		}
		conn := &script{said: said}
		if c, err := Accept(conn, list, false, binding); err == nil {
			t.Fatalf("%q is let in: %v", said, c)
		}
		if len(conn.heard) > len(Magic)+keyBytes {
			t.Fatalf("%q is told %q", said, conn.heard)
		}
	})
}

// FuzzDial: whatever answers, the dialler does not mistake it for a node of its cluster.
func FuzzDial(f *testing.F) {
	hello := Magic + strings.Repeat("n", keyBytes)
	for _, s := range []string{"", "-ERR this is a port for clients; x", "HTTP/1.1 400", hello, hello + "\x00", hello + "\xff", hello + "\x00" + strings.Repeat("p", keyBytes), "\x15\x03"} {
		f.Add([]byte(s))
	}
	list := listOf(f, textB, textC)
	f.Fuzz(func(t *testing.T, said []byte) {
		if c, err := Dial(&script{said: said}, list, nil); err == nil {
			t.Fatalf("%q is taken for a node: %v", said, c)
		}
	})
}

// FuzzRecords: if anything else comes instead of records, none of it is read.
func FuzzRecords(f *testing.F) {
	f.Add([]byte{0, 17, 1})
	f.Add(bytes.Repeat([]byte{0, 20}, 40))
	f.Add(append([]byte{128, 16}, make([]byte, 1<<16)...))
	f.Fuzz(func(t *testing.T, said []byte) {
		c := newRecords(&script{said: said}, make([]byte, keyBytes), make([]byte, keyBytes))
		if got, err := io.ReadAll(c); len(got) > 0 || err == nil && len(said) > 0 {
			t.Fatalf("%q: read %q, %v", said, got, err)
		}
	})
}

// script is a connection whose other side has already sent everything.
type script struct {
	net.Conn
	said, heard []byte
}

func (s *script) Read(p []byte) (int, error) {
	if len(s.said) == 0 {
		return 0, io.EOF
	}
	n := copy(p, s.said)
	s.said = s.said[n:]
	return n, nil
}

func (s *script) Write(p []byte) (int, error) {
	s.heard = append(s.heard, p...)
	return len(p), nil
}

func (*script) SetReadDeadline(time.Time) error { return nil }
