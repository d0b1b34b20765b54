package hll

// Add returns a text with elements added, and how many of them raised a register. It changes text,
// and the result may be text itself: a dense text is changed in place. After an error text must not
// be used. bytesMax is the length beyond which a sparse text becomes dense. each is called for each
// element.
func Add(text []byte, elements [][]byte, bytesMax int64, each func()) (out []byte, raised int, err error) {
	for _, element := range elements {
		each()
		register, rank := place(element)
		var higher bool
		if text, higher, _, err = set(text, register, rank, bytesMax, noHint); err != nil {
			return nil, 0, err
		}
		if higher {
			raised++
		}
	}
	return text, raised, nil
}

// Raises reports whether any of the elements would raise a register of a dense text. It calls each
// for every element that it looks at.
func Raises(text []byte, elements [][]byte, each func()) bool {
	for _, element := range elements {
		each()
		if register, rank := place(element); denseGet(text, register) < rank {
			return true
		}
	}
	return false
}

func set(text []byte, register int, rank uint8, bytesMax int64, from hint) ([]byte, bool, hint, error) {
	if !Dense(text) {
		return sparseSet(text, register, rank, int(min(bytesMax, DenseBytes*4)), from)
	}
	if denseGet(text, register) >= rank {
		return text, false, noHint, nil
	}
	denseSet(text, register, rank)
	Outdate(text)
	return text, true, noHint, nil
}

// Raise returns a text whose registers are at least as high as values. It changes text, and the
// result may be text itself, with an outdated estimate. If toDense is set the text becomes dense.
// After an error text must not be used.
func Raise(text []byte, values *Values, toDense bool, bytesMax int64) ([]byte, error) {
	var err error
	if toDense && !Dense(text) {
		if text, err = AppendDense(nil, text); err != nil {
			return nil, err
		}
	}
	from := noHint
	for i, rank := range values {
		if rank == 0 {
			continue
		}
		if text, _, from, err = set(text, i, rank, bytesMax, from); err != nil {
			return nil, err
		}
	}
	Outdate(text)
	return text, nil
}
