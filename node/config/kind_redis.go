package config

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Forms of values that only Redis's directives have.

// ClientClass is a kind of client that has its own output buffer limit.
type ClientClass uint8

const (
	// NormalClient is every client that is not one of the others.
	NormalClient ClientClass = iota
	// ReplicaClient reads the replication stream (redis-cli --rdb).
	ReplicaClient
	// PubSubClient has subscribed to something.
	PubSubClient

	clientClasses
)

// className is how CONFIG GET names the classes: Redis still says slave.
var className = [clientClasses]string{"normal", "slave", "pubsub"}

// OutputLimit closes a client that does not read its replies: at once above
// HardBytes, after SoftSeconds above SoftBytes. 0 is no limit.
type OutputLimit struct {
	HardBytes, SoftBytes int64
	SoftSeconds          int
}

// OutputLimits has one limit per class.
type OutputLimits [clientClasses]OutputLimit

var (
	errBufferWords = errors.New("Wrong number of arguments in buffer limit configuration.")
	errBufferClass = errors.New("Invalid client class specified in buffer limit configuration.")
	errBufferValue = errors.New("Error in hard, soft or soft_seconds setting in buffer limit configuration.")
)

// outputLimits reads groups of four words. Classes that are not named keep their
// limits.
func outputLimits() codec[OutputLimits] {
	return codec[OutputLimits]{
		form:  "class hard soft seconds ...",
		words: true,
		parse: func(limits OutputLimits, args []string) (OutputLimits, error) {
			if len(args) == 0 || len(args)%4 != 0 {
				return limits, errBufferWords
			}
			for ; len(args) > 0; args = args[4:] {
				class, ok := classOf(args[0])
				if !ok {
					return limits, errBufferClass
				}
				hard, hardErr := parseMemory(args[1])
				soft, softErr := parseMemory(args[2])
				seconds, secondsErr := strconv.ParseUint(args[3], 10, 31)
				if errors.Join(hardErr, softErr, secondsErr) != nil {
					return limits, errBufferValue
				}
				limits[class] = OutputLimit{hard, soft, int(seconds)}
			}
			return limits, nil
		},
		format: func(limits OutputLimits) string {
			words := make([]string, 0, len(limits))
			for class, l := range limits {
				words = append(words, fmt.Sprintf("%s %d %d %d", className[class], l.HardBytes, l.SoftBytes, l.SoftSeconds))
			}
			return strings.Join(words, " ")
		},
	}
}

func classOf(word string) (ClientClass, bool) {
	switch strings.ToLower(word) {
	case "normal":
		return NormalClient, true
	case "slave", "replica":
		return ReplicaClient, true
	case "pubsub":
		return PubSubClient, true
	}
	return 0, false
}

// EventClasses is the set of keyspace events that are published, as bits.
type EventClasses uint16

// The letters of notify-keyspace-events, in the order Redis prints them.
const (
	EventGeneric EventClasses = 1 << iota
	EventString
	EventList
	EventSet
	EventHash
	EventZset
	EventExpired
	EventEvicted
	EventStream
	EventModule
	EventNew
	EventKeyspace
	EventKeyevent
	EventKeyMiss

	// EventAll is what the letter A stands for.
	EventAll = EventGeneric | EventString | EventList | EventSet | EventHash | EventZset |
		EventExpired | EventEvicted | EventStream | EventModule
)

const eventLetters = "g$lshzxetdnKEm"

func eventClasses() codec[EventClasses] {
	return one("letters of Ag$lshzxeKEtmdn", func(a string) (EventClasses, error) {
		var set EventClasses
		for _, letter := range a {
			i := strings.IndexRune(eventLetters, letter)
			switch {
			case letter == 'A':
				set |= EventAll
			case i >= 0:
				set |= 1 << i
			default:
				return 0, errors.New("Invalid event class character. Use 'Ag$lshzxeKEtmdn'.")
			}
		}
		return set, nil
	}, formatEvents)
}

// formatEvents drops the letter n beside A, as Redis does.
func formatEvents(set EventClasses) string {
	var b strings.Builder
	if set&EventAll == EventAll {
		b.WriteByte('A')
		set &^= EventAll | EventNew
	}
	for i := range eventLetters {
		if set&(1<<i) != 0 {
			b.WriteByte(eventLetters[i])
		}
	}
	return b.String()
}

// savePoints checks the pairs of save. Nothing uses them.
func savePoints() codec[string] {
	return codec[string]{
		form:  "seconds changes ...",
		words: true,
		parse: func(_ string, args []string) (string, error) {
			var kept []string
			for _, a := range args {
				if a == "" {
					kept = nil
					continue
				}
				kept = append(kept, a)
			}
			errSave := errors.New("Invalid save parameters")
			if len(kept)%2 != 0 {
				return "", errSave
			}
			for i, a := range kept {
				n, err := parseInteger(a)
				if err != nil || n < int64(1-i%2) {
					return "", errSave
				}
			}
			return strings.Join(kept, " "), nil
		},
		format: func(v string) string { return v },
	}
}

// percentiles are numbers from 0 to 100.
func percentiles() codec[[]string] {
	const name = "latency-tracking-info-percentiles"
	numbers := list("numbers 0..100", func(w string) error {
		f, err := strconv.ParseFloat(w, 64)
		if err != nil {
			return errors.New("Invalid " + name + " parameters")
		}
		if !(f >= 0 && f <= 100) {
			return errors.New(name + " parameters should sit between [0.0,100.0]")
		}
		return nil
	})
	// CONFIG GET shows numbers as Redis formats them: 50.0 is 50.
	show := numbers.format
	numbers.format = func(words []string) string {
		short := make([]string, len(words))
		for i, w := range words {
			f, _ := strconv.ParseFloat(w, 64)
			short[i] = strconv.FormatFloat(f, 'g', -1, 64)
		}
		return show(short)
	}
	return numbers
}

// anyWords accepts anything, for directives whose value is never used.
func anyWords() codec[[]string] { return list("words", func(string) error { return nil }) }

// ClientsMemory is maxmemory-clients: bytes, or a percentage of maxmemory. If both
// are 0, it is a share of the memory that the process may take.
type ClientsMemory struct {
	Bytes   int64
	Percent int
}

const (
	// clientsMemoryMin is the least that clients may hold together. With less, no
	// client could connect to raise the limit.
	clientsMemoryMin = 128 << 10
	// By default clients may hold one part in clientsMemoryShare (an eighth) of the memory of the
	// process, but at least clientsMemoryLeast, so that one long request fits.
	clientsMemoryShare = 8
	clientsMemoryLeast = 128 << 20
)

// Of returns the limit in bytes. maxMemory is the setting maxmemory, 0 if it is not
// set; processMemory is the memory that the process may take.
func (m ClientsMemory) Of(maxMemory, processMemory int64) int64 {
	if maxMemory == 0 {
		maxMemory = processMemory
	}
	switch {
	case m.Percent > 0 && maxMemory > 0:
		return max(int64(float64(maxMemory)*float64(m.Percent)/100), clientsMemoryMin)
	case m.Bytes > 0:
		return max(m.Bytes, clientsMemoryMin)
	}
	return max(processMemory/clientsMemoryShare, clientsMemoryLeast)
}

func clientsMemory() codec[ClientsMemory] {
	return one("bytes or N%", func(a string) (ClientsMemory, error) {
		if digits, ok := strings.CutSuffix(a, "%"); ok {
			n, err := strconv.ParseUint(digits, 10, 31)
			if err != nil || digits != strconv.FormatUint(n, 10) {
				return ClientsMemory{}, errors.New("argument must be a memory or percent value")
			}
			if n > 100 {
				return ClientsMemory{}, errors.New("percentage argument must be less or equal to 100")
			}
			return ClientsMemory{Percent: int(n)}, nil
		}
		n, err := parseMemory(a)
		if err != nil {
			return ClientsMemory{}, errors.New("argument must be a memory or percent value")
		}
		return ClientsMemory{Bytes: n}, nil
	}, func(m ClientsMemory) string {
		if m.Percent > 0 {
			return strconv.Itoa(m.Percent) + "%"
		}
		return strconv.FormatInt(m.Bytes, 10)
	})
}

// checkHostname is Redis's rule for cluster-announce-hostname.
func checkHostname(a string) error {
	if len(a) >= 256 {
		return errors.New("Hostnames must be less than 256 characters")
	}
	for _, c := range []byte(a) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '.':
		default:
			return errors.New("Hostnames may only contain alphanumeric characters, hyphens or dots")
		}
	}
	return nil
}
