package config

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// The texts of Redis for values it cannot take (config.c, version 7.0).
var (
	errArgCount   = errors.New("wrong number of arguments")
	errNotBool    = errors.New("argument must be 'yes' or 'no'")
	errNotInteger = errors.New("argument couldn't be parsed into an integer")
	errNotMemory  = errors.New("argument must be a memory value")
)

// codec reads and writes the values of one form.
type codec[T any] struct {
	form string
	// words is true if the value is a list of words, false if it is one argument.
	words bool
	// parse reads the words of one source. old is the previous value, for forms
	// whose parts can be set one by one.
	parse func(old T, args []string) (T, error)
	// format writes the canonical text, which parse reads back to the same value.
	format func(T) string
}

// kind is a codec together with the field it fills, if any.
type kind interface {
	form() string
	words() bool
	// set reads args, stores the value in s, and returns the canonical text.
	set(s *Settings, args []string) (string, error)
}

type fieldKind[T any] struct {
	codec[T]
	field func(*Settings) *T
}

// into binds a form to the field that takes its value.
func into[T any](c codec[T], field func(*Settings) *T) kind { return fieldKind[T]{c, field} }

// unread is a form whose values only CONFIG GET reads.
func unread[T any](c codec[T]) kind { return fieldKind[T]{codec: c} }

func (k fieldKind[T]) form() string { return k.codec.form }
func (k fieldKind[T]) words() bool  { return k.codec.words }

func (k fieldKind[T]) set(s *Settings, args []string) (string, error) {
	var old T
	if k.field != nil {
		old = *k.field(s)
	}
	if k.codec.words {
		args = splitWords(args)
	} else if len(args) != 1 {
		return "", errArgCount
	}
	v, err := k.codec.parse(old, args)
	if err != nil {
		return "", err
	}
	if k.field != nil {
		*k.field(s) = v
	}
	return k.codec.format(v), nil
}

// splitWords splits arguments at blanks: a list may be given as one quoted
// argument or as many. An empty argument stays: it means "none".
func splitWords(args []string) []string {
	var words []string
	for _, a := range args {
		if a == "" {
			words = append(words, "")
			continue
		}
		words = append(words, strings.Fields(a)...)
	}
	return words
}

// one makes a codec of a form that is a single argument.
func one[T any](form string, parse func(string) (T, error), format func(T) string) codec[T] {
	return codec[T]{
		form:   form,
		parse:  func(_ T, args []string) (T, error) { return parse(args[0]) },
		format: format,
	}
}

func yesNo() codec[bool] {
	return one("yes|no", func(a string) (bool, error) {
		switch strings.ToLower(a) {
		case "yes":
			return true, nil
		case "no":
			return false, nil
		}
		return false, errNotBool
	}, func(v bool) string {
		if v {
			return "yes"
		}
		return "no"
	})
}

// parseInteger is as strict as Redis: no sign but '-', no leading zero.
func parseInteger(a string) (int64, error) {
	n, err := strconv.ParseInt(a, 10, 64)
	if err != nil || strconv.FormatInt(n, 10) != a {
		return 0, errNotInteger
	}
	return n, nil
}

func inRange(n, low, high int64) error {
	if n < low || n > high {
		return fmt.Errorf("argument must be between %d and %d inclusive", low, high)
	}
	return nil
}

func rangeForm(low, high int64) string {
	switch high {
	case math.MaxInt64, math.MaxInt32, math.MaxUint32:
		return fmt.Sprintf("integer from %d", low)
	}
	return fmt.Sprintf("integer %d..%d", low, high)
}

func number[T int | int64](low, high int64) codec[T] {
	return one(rangeForm(low, high), func(a string) (T, error) {
		n, err := parseInteger(a)
		if err == nil {
			err = inRange(n, low, high)
		}
		return T(n), err
	}, func(n T) string { return strconv.FormatInt(int64(n), 10) })
}

func integer(low, high int64) codec[int] { return number[int](low, high) }

func integer64(low, high int64) codec[int64] { return number[int64](low, high) }

// milliseconds takes a bare number, or one with ms, s or m.
func milliseconds(low, high int64) codec[int] {
	form := fmt.Sprintf("milliseconds %d..%d (or 250ms, 2s, 1m)", low, high)
	return one(form, func(a string) (int, error) {
		digits, unitMs := a, int64(1)
		for _, u := range []struct {
			suffix string
			ms     int64
		}{{"ms", 1}, {"s", 1000}, {"m", 60_000}} {
			if d, ok := strings.CutSuffix(strings.ToLower(a), u.suffix); ok {
				digits, unitMs = d, u.ms
				break
			}
		}
		n, err := parseInteger(digits)
		if err != nil {
			return 0, err
		}
		if n > high { // before the product could overflow
			unitMs = 1
		}
		n *= unitMs
		return int(n), inRange(n, low, high)
	}, strconv.Itoa)
}

// memoryUnits are redis.conf's: 1k is 1000 bytes, 1kb is 1024.
var memoryUnits = map[string]int64{
	"": 1, "b": 1,
	"k": 1000, "kb": 1 << 10,
	"m": 1000 * 1000, "mb": 1 << 20,
	"g": 1000 * 1000 * 1000, "gb": 1 << 30,
}

func parseMemory(a string) (int64, error) {
	end := 0
	for end < len(a) && a[end] >= '0' && a[end] <= '9' {
		end++
	}
	unit, ok := memoryUnits[strings.ToLower(a[end:])]
	n, err := strconv.ParseInt(a[:end], 10, 64)
	if !ok || err != nil || n > math.MaxInt64/unit {
		return 0, errNotMemory
	}
	return n * unit, nil
}

func memory(low, high int64) codec[int64] {
	form := "bytes (100mb)"
	if low > 0 {
		form = fmt.Sprintf("bytes (100mb), at least %d", low)
	}
	return one(form, func(a string) (int64, error) {
		n, err := parseMemory(a)
		if err == nil {
			err = inRange(n, low, high)
		}
		return n, err
	}, func(n int64) string { return strconv.FormatInt(n, 10) })
}

func oneOf[T ~string](values ...T) codec[T] {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = string(v)
	}
	return one(strings.Join(words, "|"), func(a string) (T, error) {
		for _, v := range values {
			if strings.EqualFold(a, string(v)) {
				return v, nil
			}
		}
		return "", fmt.Errorf("argument(s) must be one of the following: %s", strings.Join(words, ", "))
	}, func(v T) string { return string(v) })
}

func text() codec[string] {
	return one("text", func(a string) (string, error) { return a, nil },
		func(v string) string { return v })
}

// checkedText is text that has to pass a check.
func checkedText(form string, check func(string) error) codec[string] {
	return one(form, func(a string) (string, error) { return a, check(a) },
		func(v string) string { return v })
}

// list is any number of words, separated by blanks or commas. An empty word means no words at all.
func list(form string, check func(string) error) codec[[]string] {
	return codec[[]string]{
		form:  form,
		words: true,
		parse: func(_ []string, args []string) ([]string, error) {
			var out []string
			for _, a := range args {
				for _, w := range strings.Split(a, ",") {
					if w == "" {
						continue
					}
					if err := check(w); err != nil {
						return nil, err
					}
					out = append(out, w)
				}
			}
			return out, nil
		},
		format: func(v []string) string { return strings.Join(v, " ") },
	}
}
