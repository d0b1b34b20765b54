package script

import (
	"math"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

var structLibrary []entry

func init() {
	structLibrary = []entry{{"pack", structPack}, {"size", structSize}, {"unpack", structUnpack}}
}

// layout reads a format of struct: sizes, byte order and alignment.
type layout struct {
	L      *lua.LState
	fmt    string
	at     int
	name   string
	little bool
	align  int
}

func newLayout(L *lua.LState, name string) *layout {
	l := &layout{L: L, fmt: str(L, name, 1), name: name, little: true, align: 1}
	meterOf(L).spend(L, len(l.fmt)/4)
	l.fmt = cText(l.fmt)
	return l
}

func (l *layout) number(otherwise int) int {
	if l.at >= len(l.fmt) || !isDigit(l.fmt[l.at]) {
		return otherwise
	}
	n := 0
	for ; l.at < len(l.fmt) && isDigit(l.fmt[l.at]); l.at++ {
		if n > (math.MaxInt32-9)/10 {
			l.L.RaiseError("integral size overflow")
		}
		n = n*10 + int(l.fmt[l.at]-'0')
	}
	return n
}

// next returns the next option and the size of its value.
func (l *layout) next() (opt byte, size int) {
	opt = l.fmt[l.at]
	l.at++
	switch opt {
	case 'B', 'b', 'c', 'x':
		size = 1
		if opt == 'c' {
			size = l.number(1)
		}
	case 'H', 'h':
		size = 2
	case 'L', 'l', 'T', 'd':
		size = 8
	case 'f':
		size = 4
	case 'i', 'I':
		size = l.number(4)
		if size > 32 {
			l.L.RaiseError("integral size %d is larger than limit of %d", size, 32)
		}
	}
	return opt, size
}

func (l *layout) padding(at int, opt byte, size int) int {
	if size == 0 || opt == 'c' || l.align <= 1 {
		return 0
	}
	a := min(size, l.align)
	return (a - at&(a-1)) & (a - 1)
}

// control handles the options that hold no value.
func (l *layout) control(opt byte) {
	switch opt {
	case ' ':
	case '>':
		l.little = false
	case '<':
		l.little = true
	case '!':
		a := l.number(8)
		if a <= 0 || a&(a-1) != 0 {
			l.L.RaiseError("alignment %d is not a power of 2", a)
		}
		l.align = a
	default:
		badArg(l.L, l.name, 1, "invalid format option '"+string([]byte{opt})+"'")
	}
}

// sizeless refuses an option whose size struct.size cannot know.
func (l *layout) sizeless(opt string) {
	badArg(l.L, "size", 1, "option '"+opt+"' has no fixed size")
}

func structPack(L *lua.LState) int {
	l, m := newLayout(L, "pack"), meterOf(L)
	var out []byte
	arg := 1
	for l.at < len(l.fmt) {
		opt, size := l.next()
		pad := l.padding(len(out), opt, size)
		m.use(L, pad+size)
		m.spend(L, priceStruct)
		for range pad {
			out = append(out, 0)
		}
		switch opt {
		case 'b', 'B', 'h', 'H', 'l', 'L', 'T', 'i', 'I':
			arg++
			out = l.integer(out, num(L, "pack", arg), size)
		case 'x':
			out = append(out, 0)
		case 'f':
			arg++
			out = l.bits(out, uint64(math.Float32bits(float32(num(L, "pack", arg)))), 4)
		case 'd':
			arg++
			out = l.bits(out, math.Float64bits(num(L, "pack", arg)), 8)
		case 's', 'c':
			arg++
			s := str(L, "pack", arg)
			if opt == 's' || size == 0 {
				size = len(s)
			}
			if len(s) < size {
				badArg(L, "pack", arg+1, "string too short") // the number of the next argument, as in Redis's library
			}
			m.text(L, size)
			out = append(out, s[:size]...)
			if opt == 's' {
				out = append(out, 0)
			}
		default:
			l.control(opt)
		}
	}
	m.text(L, len(out))
	L.Push(asText(out))
	return 1
}

func (l *layout) integer(out []byte, f float64, size int) []byte {
	if f < 0 {
		return l.bits(out, uint64(toInt64(f)), size)
	}
	return l.bits(out, toUint64(f), size)
}

// bits writes the lowest size bytes of v.
func (l *layout) bits(out []byte, v uint64, size int) []byte {
	for i := range size {
		k := i
		if !l.little {
			k = size - 1 - i
		}
		b := byte(0)
		if k < 8 {
			b = byte(v >> (8 * k))
		}
		out = append(out, b)
	}
	return out
}

func structSize(L *lua.LState) int {
	l := newLayout(L, "size")
	at := 0
	for l.at < len(l.fmt) {
		opt, size := l.next()
		at += l.padding(at, opt, size)
		meterOf(L).spend(L, priceStruct)
		switch {
		case opt == 's':
			l.sizeless("s")
		case opt == 'c' && size == 0:
			l.sizeless("c0")
		case strings.IndexByte("bBhHlLTiIcfdx", opt) < 0 && !isAlpha(opt) && !isDigit(opt):
			// Redis accepts unknown letters here.
			l.control(opt)
		}
		at += size
	}
	return pushNumber(L, float64(at))
}

func structUnpack(L *lua.LState) int {
	l, m := newLayout(L, "unpack"), meterOf(L)
	data := str(L, "unpack", 2)
	pos := optInteger(L, "unpack", 3, 1) - 1
	if pos < -1 {
		// The position is unsigned there.
		if l.fmt == "" {
			return pushNumber(L, float64(pos+1))
		}
		pos = math.MaxInt32
	}
	if pos < 0 {
		badArg(L, "unpack", 3, "offset must be 1 or greater")
	}
	base := L.GetTop()
	for l.at < len(l.fmt) {
		opt, size := l.next()
		pos += l.padding(pos, opt, size)
		if pos > len(data) || size > len(data)-pos {
			badArg(L, "unpack", 2, "data string too short")
		}
		if L.GetTop()-base > unpackMax {
			L.RaiseError("too many results to unpack")
		}
		m.spend(L, priceStruct)
		pos = l.unpackItem(data, pos, opt, size, base)
	}
	L.Push(lua.LNumber(pos + 1))
	return L.GetTop() - base
}

func (l *layout) unpackItem(data string, pos int, opt byte, size, base int) int {
	L, m := l.L, meterOf(l.L)
	switch opt {
	case 'b', 'B', 'h', 'H', 'l', 'L', 'T', 'i', 'I':
		v := l.read(data[pos : pos+size])
		signed := opt >= 'a'
		if signed {
			if size < 8 {
				v = uint64(int64(v<<(64-8*size)) >> (64 - 8*size))
			}
			L.Push(lua.LNumber(int64(v)))
		} else {
			L.Push(lua.LNumber(v))
		}
	case 'x':
	case 'f':
		L.Push(lua.LNumber(math.Float32frombits(uint32(l.read(data[pos : pos+4])))))
	case 'd':
		L.Push(lua.LNumber(math.Float64frombits(l.read(data[pos : pos+8]))))
	case 'c':
		if size == 0 {
			n, ok := m.number(L, L.Get(-1))
			if L.GetTop() == base || !ok {
				L.RaiseError("format 'c0' needs a previous size")
			}
			size = toInt(n)
			L.Pop(1)
			if size < 0 || size > len(data)-pos {
				badArg(L, "unpack", 2, "data string too short")
			}
		}
		m.use(L, stringCost)
		L.Push(lua.LString(data[pos : pos+size]))
	case 's':
		n := strings.IndexByte(data[pos:], 0)
		if n < 0 {
			m.spend(L, (len(data)-pos)/bytesCompared)
			L.RaiseError("unfinished string in data")
		}
		m.use(L, stringCost)
		m.spend(L, n/bytesCompared)
		L.Push(lua.LString(data[pos : pos+n]))
		size = n + 1
	default:
		l.control(opt)
	}
	return pos + size
}

// read is the number in b. If b is longer than eight bytes, its lowest eight count.
func (l *layout) read(b string) uint64 {
	v := uint64(0)
	for i := range len(b) {
		k := i
		if l.little {
			k = len(b) - 1 - i
		}
		v = v<<8 | uint64(b[k])
	}
	return v
}
