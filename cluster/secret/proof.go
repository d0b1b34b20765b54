package secret

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"lockstep/ground/secure"
)

// Magic is the first thing that both sides send; its digit is the protocol's version. It ends a
// line, so that a server of another kind that was dialled by mistake answers at once.
const Magic = "LSP2\r\n"

// nothingProved is the acceptor's answer to a dialler without a secret that it
// admits.
const nothingProved = 255

// ExporterLabel names the exporter of a TLS connection (RFC 5705) that a proof is bound to.
// BindingBytes is how many bytes of the exporter are used.
const (
	ExporterLabel = "EXPORTER-lockstep-cluster-secret"
	BindingBytes  = 32
)

// These are the roles. The words go into the keys.
const (
	dialler  = "lockstep 2 dialler"
	acceptor = "lockstep 2 acceptor"
)

// These are the reasons why a handshake ended. The acceptor returns the first three, only for its
// own log; the dialler returns the others.
var (
	ErrUnproved = errors.New("it did not prove that it knows the cluster's secret")
	ErrStranger = errors.New("it knows no cluster secret, and this node takes in nobody without one")
	ErrNoSecret = errors.New("it wanted a cluster secret proved, and this node has none")

	ErrClosed = errors.New("it closed the connection; most likely its cluster has another secret than this node")
	ErrAsks   = errors.New("it closed the connection; most likely it wants the cluster's secret proved, and this node was given none " +
		"(cluster-secret, cluster-secret-file, requirepass)")
	ErrNotPeer = errors.New("it does not speak as a node does")
	// ErrOtherPort: a server of another kind answered.
	ErrOtherPort = errors.New("it is no peer port")

	errSpeaksTLS = errors.New("it speaks TLS, and this node's tls-cluster is off")
)

// Conn is a connection after its handshake.
type Conn struct {
	net.Conn
	// Proved is the secret that both sides have proved, or nil if none was.
	Proved *Secret
}

// Dial proves the secrets of the list to the node that was dialled, and demands a proof from that
// node. The connection must have a deadline. It belongs to the caller, even after an error. binding
// is nil for a plain connection; for a TLS connection it holds the bytes that bind the proof to it.
func Dial(conn net.Conn, list List, binding []byte) (*Conn, error) {
	own, err := sendHello(conn)
	if err != nil {
		return nil, err
	}
	theirs, err := readAcceptor(conn)
	if err != nil {
		return nil, err
	}
	tr := transcript{binding: binding, dialler: own, acceptor: theirs}
	msg := []byte{byte(len(list))}
	for _, s := range list {
		msg = append(msg, tr.with(s).proof(dialler)...)
	}
	if _, err := conn.Write(msg); err != nil {
		return nil, err
	}
	var which [1]byte
	if _, err := io.ReadFull(conn, which[:]); err != nil {
		return nil, turnedAway(err, list)
	}
	switch {
	case len(list) == 0 && which[0] == nothingProved:
		return &Conn{Conn: conn}, nil
	case int(which[0]) >= len(list):
		return nil, ErrUnproved
	}
	var proof [keyBytes]byte
	if _, err := io.ReadFull(conn, proof[:]); err != nil {
		return nil, err
	}
	s := list[which[0]]
	keys := tr.with(s)
	if !hmac.Equal(proof[:], keys.proof(acceptor)) {
		return nil, ErrUnproved
	}
	if binding == nil {
		conn = newRecords(conn, keys.records(acceptor), keys.records(dialler))
	}
	return &Conn{Conn: conn, Proved: s}, nil
}

// Accept demands that the dialler proves a secret of the list, and proves the same one. If admits
// is true, a dialler without a secret is let through with nothing proved. The connection must have
// a deadline. It belongs to the caller, even after an error.
func Accept(conn net.Conn, list List, admits bool, binding []byte) (*Conn, error) {
	theirs, err := readDialler(conn)
	if err != nil {
		return nil, err
	}
	own, err := sendHello(conn)
	if err != nil {
		return nil, err
	}
	var n [1]byte
	if _, err := io.ReadFull(conn, n[:]); err != nil {
		return nil, err
	}
	proofs := make([]byte, min(int(n[0]), ListMax)*keyBytes)
	if _, err := io.ReadFull(conn, proofs); err != nil {
		return nil, err
	}
	switch {
	case int(n[0]) > ListMax:
		return nil, ErrUnproved
	case n[0] == 0 && !admits:
		return nil, ErrStranger
	case n[0] == 0:
		_, err := conn.Write([]byte{nothingProved})
		return &Conn{Conn: conn}, err
	case len(list) == 0:
		return nil, ErrNoSecret
	}
	tr := transcript{binding: binding, dialler: theirs, acceptor: own}
	for which := range int(n[0]) {
		proof := proofs[which*keyBytes:][:keyBytes]
		for _, s := range list {
			keys := tr.with(s)
			if hmac.Equal(proof, keys.proof(dialler)) {
				return accepted(conn, s, keys, byte(which), binding == nil)
			}
		}
	}
	return nil, ErrUnproved
}

// accepted answers a proof that was right.
func accepted(conn net.Conn, s *Secret, derived derived, which byte, plain bool) (*Conn, error) {
	if _, err := conn.Write(append([]byte{which}, derived.proof(acceptor)...)); err != nil {
		return nil, err
	}
	if plain {
		conn = newRecords(conn, derived.records(dialler), derived.records(acceptor))
	}
	return &Conn{Conn: conn, Proved: s}, nil
}

func sendHello(conn net.Conn) (nonce [keyBytes]byte, err error) {
	_, _ = rand.Read(nonce[:]) // never fails
	_, err = conn.Write(append([]byte(Magic), nonce[:]...))
	return nonce, err
}

// readDialler reads the dialler's hello.
func readDialler(r io.Reader) (nonce [keyBytes]byte, err error) {
	var magic [len(Magic)]byte
	n, err := io.ReadFull(r, magic[:])
	switch {
	case string(magic[:]) == Magic:
		_, err = io.ReadFull(r, nonce[:])
	case secure.SpeaksTLS(magic[:n]):
		err = errSpeaksTLS
	case n > 0:
		err = ErrNotPeer
	}
	return nonce, err
}

// readAcceptor reads the hello of the node that was dialled. If something else answers, the error
// says what.
func readAcceptor(conn net.Conn) (nonce [keyBytes]byte, err error) {
	var magic [len(Magic)]byte
	n, err := io.ReadFull(conn, magic[:])
	switch {
	case string(magic[:]) == Magic:
		_, err = io.ReadFull(conn, nonce[:])
	case n > 0:
		err = mistaken(conn, magic[:n])
	}
	return nonce, err
}

// strangeTextMax and strangeTextWait bound how much is read of a server that is not a node, to find
// out what it is.
const (
	strangeTextMax  = 400
	strangeTextWait = 200 * time.Millisecond
)

// mistaken guesses from the first bytes of an answer what was dialled instead of a node.
func mistaken(conn net.Conn, begin []byte) error {
	if secure.SpeaksTLS(begin) || begin[0] == tlsAlert {
		return fmt.Errorf("%w: %w", ErrNotPeer, errSpeaksTLS)
	}
	_ = conn.SetReadDeadline(time.Now().Add(strangeTextWait))
	rest, _ := io.ReadAll(io.LimitReader(conn, strangeTextMax))
	line, _, _ := strings.Cut(string(begin)+string(rest), "\n")
	switch {
	case strings.HasPrefix(line, "-"+clientPort):
		return fmt.Errorf("%w: %s", ErrOtherPort, strings.TrimPrefix(strings.TrimSpace(line), "-ERR "))
	case strings.HasPrefix(line, "-"):
		return fmt.Errorf("%w: this port is for clients; nodes meet at the peer port, as a rule the port for clients plus 10000", ErrOtherPort)
	case strings.HasPrefix(line, "HTTP/"):
		return fmt.Errorf("%w: this port speaks HTTP, as a node's admin-port does; nodes meet at the peer port", ErrOtherPort)
	}
	return ErrNotPeer
}

// tlsAlert is the first byte of a TLS record with an alert.
const tlsAlert = 21

// clientPort begins the answer of a node's client port to a node; see ClientPort.
const clientPort = "ERR this port is for clients"

// ClientPort is the error that a node's client port returns to another node that mistakes it for
// the peer port.
func ClientPort(peerPort int) string {
	return fmt.Sprintf("%s; nodes meet at the peer port, %d", clientPort, peerPort)
}

// SpeaksPeer reports whether the first bytes of a connection are a node's hello.
func SpeaksPeer(first []byte) bool {
	return len(first) >= len(Magic) && string(first[:len(Magic)]) == Magic
}

// turnedAway guesses why the acceptor ended the handshake: the acceptor does not tell strangers.
func turnedAway(err error, list List) error {
	var timeout net.Error
	switch {
	case errors.As(err, &timeout) && timeout.Timeout():
		return err
	case len(list) == 0:
		return ErrAsks
	}
	return ErrClosed
}

// transcript is everything that both sides have sent before the proofs.
type transcript struct {
	binding           []byte
	dialler, acceptor [keyBytes]byte
}

// derived is what one secret and a transcript give.
type derived struct{ root []byte }

func (t *transcript) with(s *Secret) derived {
	mac := hmac.New(sha256.New, s.key[:])
	mac.Write([]byte{byte(len(t.binding))})
	mac.Write(t.binding)
	mac.Write(t.dialler[:])
	mac.Write(t.acceptor[:])
	return derived{mac.Sum(nil)}
}

// proof returns the proof of a node in a role.
func (d derived) proof(role string) []byte { return d.expand(role + " proves") }

// records returns the key of the records that a node in a role sends.
func (d derived) records(role string) []byte { return d.expand(role + " sends") }

func (d derived) expand(what string) []byte {
	b, err := hkdf.Expand(sha256.New, d.root, what, keyBytes)
	if err != nil {
		panic("secret: " + err.Error()) // only for lengths that FIPS 140 mode forbids
	}
	return b
}
