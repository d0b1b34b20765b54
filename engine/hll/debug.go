package hll

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
)

// Decode describes the runs of a sparse text: z and Z are runs of zeros of one and two bytes, v is
// a value and its run. It stops at a run that is cut short.
func Decode(text []byte) []byte {
	var out []byte
	for at := headerBytes; at < len(text); {
		r, ok := readRun(text, at, 0)
		if !ok {
			break
		}
		switch {
		case r.rank > 0:
			out = append(out, "v:"...)
			out = append(strconv.AppendInt(out, int64(r.rank), 10), ',')
		case r.size == 2:
			out = append(out, "Z:"...)
		default:
			out = append(out, "z:"...)
		}
		out = append(strconv.AppendInt(out, int64(r.n), 10), ' ')
		at = r.end()
	}
	return bytes.TrimSuffix(out, []byte(" "))
}

// Register returns a register of a dense text.
func Register(text []byte, register int) uint8 { return denseGet(text, register) }

// SelfTest checks, on elements of its own, that dense registers do not affect each other, that both
// forms have the same registers, and that estimates are accurate enough.
func SelfTest() error {
	if err := testRegisters(); err != nil {
		return err
	}
	const (
		elements = 30_000
		bytesMax = 3000
		// errorMax is four times the standard error, 1.04/sqrt(Registers).
		errorMax = 4 * 1.04 / 128
	)
	forms := [2][]byte{New(), nil}
	forms[1], _ = AppendDense(nil, forms[0])
	for i := 1; i <= elements; i++ {
		element := [][]byte{strconv.AppendInt(nil, int64(i), 10)}
		for f := range forms {
			var err error
			if forms[f], _, err = Add(forms[f], element, bytesMax, func() {}); err != nil {
				return err
			}
		}
		if i&(i-1) != 0 && i != elements {
			continue
		}
		a, errA := Count(forms[0])
		b, errB := Count(forms[1])
		if errA != nil || errB != nil || a != b {
			return fmt.Errorf("TESTFAILED sparse says %d, dense %d, of %d", a, b, i)
		}
		if math.Abs(float64(a)-float64(i)) > math.Ceil(errorMax*float64(i)) {
			return fmt.Errorf("TESTFAILED estimate %d of %d elements", a, i)
		}
	}
	return nil
}

// testRegisters sets all dense registers in a mixed order.
func testRegisters() error {
	text, _ := AppendDense(nil, New())
	var want Values
	for i := range Registers * 8 {
		register, rank := i*5077%Registers, uint8(i*31%64)
		denseSet(text, register, rank)
		want[register] = rank
	}
	for i, rank := range want {
		if got := denseGet(text, i); got != rank {
			return fmt.Errorf("TESTFAILED register %d holds %d, was set to %d", i, got, rank)
		}
	}
	return nil
}
