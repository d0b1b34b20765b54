package secret

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
)

const (
	// TextBytesMin and TextBytesMax bound the length of a secret's text. A node that was dialled by
	// mistake could guess a shorter one.
	TextBytesMin, TextBytesMax = 16, 256
	// ListMax is how many secrets are accepted at the same time: the current one and, while the
	// secret is being changed, the previous one.
	ListMax = 2
	// keyBytes is the length of keys, nonces and proofs.
	keyBytes = sha256.Size
	// passwordRounds makes guessing a password behind a secret slow: one guess takes
	// about a tenth of a second of one core.
	passwordRounds = 600_000
)

// Secret is what only the nodes of a cluster know. It does not reveal its text by accident: it
// prints and logs as "(hidden)".
type Secret struct {
	text string
	key  [keyBytes]byte
}

// These are the errors of texts that cannot be secrets.
var (
	ErrShort  = fmt.Errorf("a cluster secret has %d to %d characters", TextBytesMin, TextBytesMax)
	ErrLetter = errors.New("a cluster secret consists of visible ASCII characters without blanks")
	ErrMany   = fmt.Errorf("%d cluster secrets are the most: the current one and the previous one", ListMax)
	ErrTwice  = errors.New("the same cluster secret is given twice")
)

// New makes a Secret from its text.
func New(text string) (*Secret, error) {
	if len(text) < TextBytesMin || len(text) > TextBytesMax {
		return nil, ErrShort
	}
	for i := range len(text) {
		if text[i] <= ' ' || text[i] > '~' {
			return nil, ErrLetter
		}
	}
	return newSecret(text), nil
}

func newSecret(text string) *Secret {
	s := &Secret{text: text}
	key, err := hkdf.Extract(sha256.New, []byte(text), []byte("lockstep cluster secret"))
	if err != nil {
		panic("secret: " + err.Error()) // only for keys too short in FIPS 140 mode
	}
	copy(s.key[:], key)
	return s
}

// Make draws a new secret.
func Make() *Secret {
	var b [keyBytes]byte
	_, _ = rand.Read(b[:]) // never fails
	return newSecret(hex.EncodeToString(b[:]))
}

// FromPassword derives a secret from a password of any length. It takes about a
// tenth of a second, so that guessing the password from a proof is slow.
func FromPassword(password string) *Secret {
	key, err := pbkdf2.Key(sha256.New, password, []byte("lockstep requirepass as cluster secret"), passwordRounds, keyBytes)
	if err != nil {
		panic("secret: " + err.Error()) // only for lengths that FIPS 140 mode forbids
	}
	return newSecret(hex.EncodeToString(key))
}

// Text is the secret itself. Only the data folder and a joining node may get it.
func (s *Secret) Text() string { return s.text }

// Same reports whether two secrets are the same.
func (s *Secret) Same(other *Secret) bool { return hmac.Equal(s.key[:], other.key[:]) }

// Print distinguishes secrets without revealing them: equal secrets have equal prints. Only members
// may see prints, because a print can confirm a guess of a weak secret.
func (s *Secret) Print() string {
	mac := hmac.New(sha256.New, s.key[:])
	mac.Write([]byte("print"))
	return hex.EncodeToString(mac.Sum(nil)[:8])
}

const hidden = "(hidden)"

// String implements fmt.Stringer.
func (s *Secret) String() string { return hidden }

// GoString implements fmt.GoStringer.
func (s *Secret) GoString() string { return hidden }

// LogValue implements slog.LogValuer.
func (s *Secret) LogValue() slog.Value { return slog.StringValue(hidden) }

// List are the secrets that a node accepts, the current one first. It is not
// changed once it is made.
type List []*Secret

// Parse reads the texts of secrets, separated by blanks or line ends. A text without secrets gives
// an empty list.
func Parse(text string) (List, error) {
	words := strings.Fields(text)
	if len(words) > ListMax {
		return nil, ErrMany
	}
	var list List
	for _, w := range words {
		s, err := New(w)
		if err != nil {
			return nil, err
		}
		if list.Has(s) {
			return nil, ErrTwice
		}
		list = append(list, s)
	}
	return list, nil
}

// Has reports whether the list has a secret.
func (l List) Has(s *Secret) bool {
	return slices.ContainsFunc(l, s.Same)
}

// Shares reports whether two lists have a secret in common: only then can their nodes connect.
func (l List) Shares(other List) bool { return slices.ContainsFunc(l, other.Has) }

// Equal reports whether two lists are equal.
func (l List) Equal(other List) bool {
	return slices.EqualFunc(l, other, (*Secret).Same)
}

// Text is the form that Parse reads, one secret a line.
func (l List) Text() string {
	var b strings.Builder
	for _, s := range l {
		b.WriteString(s.text + "\n")
	}
	return b.String()
}

// Prints returns the prints of the secrets, in order.
func (l List) Prints() []string {
	prints := make([]string, len(l))
	for i, s := range l {
		prints[i] = s.Print()
	}
	return prints
}
