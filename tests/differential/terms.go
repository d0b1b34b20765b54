package differential

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
)

// farFutureMs is a time in the year 3021. Times that are compared to the millisecond are at or
// after it. So they can be distinguished from relative times, which no two servers compute alike.
const farFutureMs = 33177117420000

// keys are few, so that commands meet. Some share a hash tag, some are not text.
var keys = []string{"a", "b", "c", "{t}1", "{t}2", "{t}3", "long-key-" + strings.Repeat("x", 40), "", "\x00\r\n\xff", "N"}

// terms are the names a form may use, and what they draw.
var terms = map[string]term{
	"key":      drawKey,
	"value":    drawValue,
	"int":      drawInt,
	"small":    func(r *rand.Rand) string { return strconv.Itoa(r.IntN(41) - 20) },
	"float":    drawFloat,
	"db":       func(r *rand.Rand) string { return pick(r, "0", "0", "0", "1", "1", "2", "15") },
	"offset":   func(r *rand.Rand) string { return strconv.Itoa(r.IntN(60) - r.IntN(2)) },
	"seconds":  func(r *rand.Rand) string { return strconv.Itoa(1_000_000 + r.IntN(1_000_000_000)) },
	"ms":       func(r *rand.Rand) string { return strconv.Itoa(1_000_000_000 + r.IntN(1_000_000_000_000)) },
	"atms":     func(r *rand.Rand) string { return strconv.Itoa(farFutureMs + r.IntN(5000)) },
	"ats":      func(r *rand.Rand) string { return strconv.Itoa(farFutureMs/1000 + r.IntN(5)) },
	"gone":     func(r *rand.Rand) string { return pick(r, "0", "-1", "-1000", "-9223372036854775") },
	"past":     func(r *rand.Rand) string { return pick(r, "0", "-1", "1", "1000", "-9223372036854775") },
	"pattern":  func(r *rand.Rand) string { return pick(r, "*", "?", "[a-c]", "{t}*", "*x*", "[^a]*", `\*`, "", "a") },
	"payload":  drawPayload,
	"alphabet": drawAlphabet,
	"hll":      drawHLL,
	"bits":     drawBitField,
	"bitoff":   drawBitOffset,
	"bitat":    drawBitAt,
	"lua":      drawLua,
	"sha":      drawSHA,
	"library":  drawLibrary,
}

func pick(r *rand.Rand, of ...string) string { return of[r.IntN(len(of))] }

func drawKey(r *rand.Rand) string { return keys[r.IntN(len(keys))] }

func drawValue(r *rand.Rand) string {
	switch r.IntN(8) {
	case 0:
		return drawInt(r)
	case 1:
		return drawFloat(r)
	case 2:
		return pick(r, "", "x", "\x00", "\r\n", "\xff\xfe", "OK", "nil", "-1", "$5\r\nhello\r\n")
	case 3:
		return drawAlphabet(r)
	case 4:
		return strings.Repeat(pick(r, "x", "ab", "\x00"), r.IntN(300))
	case 5:
		return strings.Repeat("e", 40+r.IntN(8)) // near the border between embstr and raw
	default:
		return fmt.Sprintf("v%d", r.IntN(1000))
	}
}

func drawInt(r *rand.Rand) string {
	switch r.IntN(6) {
	case 0:
		return pick(r, "9223372036854775807", "-9223372036854775808", "9223372036854775806", "0", "-0", "00", "+1", " 1", "9223372036854775808")
	case 1:
		return strconv.FormatInt(int64(r.Uint64()), 10)
	default:
		return strconv.Itoa(r.IntN(200) - 100)
	}
}

func drawFloat(r *rand.Rand) string {
	switch r.IntN(8) {
	case 0:
		return pick(r, "0", "-0", "1e10", "1e-10", "1.0", "3.0e3", "0x10", ".5", "5.", "+1.5", "1e308", "-1e308", "1e17", "123456789.123456789")
	case 1:
		return pick(r, "inf", "-inf", "nan", "1e5000", "abc", "", " 1", "1 ", "1.5x", "infinity")
	case 2:
		return strconv.FormatFloat(r.NormFloat64()*1e6, 'f', r.IntN(18), 64)
	case 3:
		return strconv.FormatFloat(r.NormFloat64(), 'e', r.IntN(18), 64)
	default:
		return strconv.FormatFloat(float64(r.IntN(2000)-1000)/100, 'f', -1, 64)
	}
}

// drawAlphabet draws strings that have long common subsequences.
func drawAlphabet(r *rand.Rand) string {
	text := make([]byte, r.IntN(60))
	for i := range text {
		text[i] = "acgt"[r.IntN(4)]
	}
	return string(text)
}

// payloads were written by DUMP of redis-server 7.0.15: text, integers of one and four bytes, and a
// compressed one. The last two are broken.
var payloads = []string{
	"\x00\x05hello\n\x00cr\xdfve4 \n",
	"\x00\xc0\x0c\n\x00<*\xf8Q\\\x04\xbc\xd5",
	"\x00\xc2\x87\xd6\x12\x00\n\x00\xe9>\x1e6+;|^",
	"\x00\xc3\x0b@N\x03abca\xe0?\x02\x01bc\n\x00\x08\xad\x00\xeb\xcd\xb0\x88:",
	"\x00\x05hellO\n\x00cr\xdfve4 \n",
	"",
}

func drawPayload(r *rand.Rand) string { return payloads[r.IntN(len(payloads))] }
