package clock

import "encoding/binary"

// answer is a node's report about the time:
//
//	node id u8 length and text  wall clock i64  count u16  { shard u32  term u64  log time i64 }
//
// Numbers are little endian, times in microseconds.
type answer struct {
	node   string
	wallUs int64
	led    []LogTime
}

const (
	logTimeBytes = 4 + 8 + 8
	// timeMax bounds plausible times, in microseconds before or after 1970: some 36,000 years.
	timeMax = 1 << 60
)

func encode(a *answer) []byte {
	led := a.led[:min(len(a.led), 1<<16-1)]
	node := a.node[:min(len(a.node), 255)]
	b := append(append(make([]byte, 0, 1+len(node)+8+2+len(led)*logTimeBytes), byte(len(node))), node...)
	b = binary.LittleEndian.AppendUint64(b, uint64(a.wallUs))
	b = binary.LittleEndian.AppendUint16(b, uint16(len(led)))
	for _, t := range led {
		b = binary.LittleEndian.AppendUint32(b, t.Shard)
		b = binary.LittleEndian.AppendUint64(b, t.Term)
		b = binary.LittleEndian.AppendUint64(b, uint64(t.RunUs))
	}
	return b
}

// decode reads an answer. It returns false if the answer is malformed.
func decode(b []byte) (a answer, ok bool) {
	if len(b) == 0 {
		return a, false
	}
	named := 1 + int(b[0])
	if len(b) < named+8+2 {
		return a, false
	}
	a.node, b = string(b[1:named]), b[named:]
	a.wallUs = int64(binary.LittleEndian.Uint64(b))
	n := int(binary.LittleEndian.Uint16(b[8:]))
	if b = b[10:]; len(b) != n*logTimeBytes || !sensible(a.wallUs) {
		return a, false
	}
	for ; len(b) > 0; b = b[logTimeBytes:] {
		t := LogTime{binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint64(b[4:]), int64(binary.LittleEndian.Uint64(b[12:]))}
		if !sensible(t.RunUs) {
			return a, false
		}
		a.led = append(a.led, t)
	}
	return a, true
}

func sensible(us int64) bool { return -timeMax < us && us < timeMax }
