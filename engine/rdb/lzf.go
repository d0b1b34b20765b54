package rdb

// lzfRatioMax is more than LZF can make of one byte: 264 bytes of three.
const lzfRatioMax = 100

// lzfDecompress unpacks to exactly length bytes. LZF (Lehmann, liblzf) is a sequence of literal
// runs and of references. A literal run begins with a byte below 32, which is its length less one.
// A reference into the unpacked data has three bits of length, where seven means that one more byte
// follows, and thirteen bits of distance.
func lzfDecompress(packed []byte, length uint64) ([]byte, bool) {
	if length > lzfRatioMax*uint64(len(packed)) {
		return nil, false
	}
	out := make([]byte, 0, length)
	for len(packed) > 0 {
		c := int(packed[0])
		packed = packed[1:]
		if c < 32 {
			if c+1 > len(packed) {
				return nil, false
			}
			out = append(out, packed[:c+1]...)
			packed = packed[c+1:]
			continue
		}
		n := c >> 5
		if n == 7 {
			if len(packed) == 0 {
				return nil, false
			}
			n += int(packed[0])
			packed = packed[1:]
		}
		if len(packed) == 0 {
			return nil, false
		}
		from := len(out) - (c&31)<<8 - int(packed[0]) - 1
		packed = packed[1:]
		if from < 0 || uint64(len(out)+n+2) > length {
			return nil, false
		}
		// Copy byte by byte: the run may overlap itself.
		for i := range n + 2 {
			out = append(out, out[from+i])
		}
	}
	return out, uint64(len(out)) == length
}
