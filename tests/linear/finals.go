package linear

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"lockstep/tests/kit/proc"
	"lockstep/tests/kit/respconn"
)

// checkFinals reads all keys except registers at the end, and checks their histories against their
// values.
func checkFinals(t *testing.T, addr string, ops []Op, evicts bool) []error {
	t.Helper()
	conn := proc.Dial(t, addr)
	var keys []string
	for _, o := range ops {
		if !o.isRegister() && !strings.HasPrefix(o.Key, briefPrefix) && !strings.HasPrefix(o.Key, sparePrefix) {
			keys = append(keys, o.Key)
		}
	}
	slices.Sort(keys)
	var wrong []error
	spent := 0
	for _, key := range slices.Compact(keys) {
		var err error
		var verdict fmt.Stringer
		switch {
		case strings.HasPrefix(key, listPrefix):
			verdict, err = finalList(conn, key, ops)
		case strings.HasPrefix(key, transitPrefix):
			verdict, err = finalTransit(conn, key, ops)
		case strings.HasPrefix(key, streamPrefix):
			verdict, err = finalStream(conn, key, ops)
		case strings.HasPrefix(key, quotaPrefix):
			var final int64
			if final, err = finalCounter(conn, key); err == nil {
				err = checkQuota(key, ops, final)
			}
			if final == quotaLimit {
				spent++
			}
		default:
			verdict, err = finalCounters(conn, key, ops)
		}
		if err != nil {
			wrong = append(wrong, err)
		}
		if verdict != nil {
			t.Log(verdict)
		}
	}
	t.Logf("%d quotas were used up", spent)
	for _, names := range [][2]string{{opBrief, opBriefRead}, {opSpare, opSpareRead}} {
		written, reads, err := checkBriefs(ops, names[0], names[1], evicts)
		if err != nil {
			wrong = append(wrong, err)
		}
		t.Logf("%s: %d keys were written to go, and read %d times", names[0], written, reads)
	}
	return wrong
}

// finalCounters checks a counter, or a pair of counters that must be equal.
func finalCounters(conn *respconn.Conn, key string, ops []Op) (fmt.Stringer, error) {
	names := []string{key}
	if strings.HasPrefix(key, pairPrefix) {
		a, b := pairKeys(key)
		names = []string{a, b}
	}
	var verdict counterVerdict
	for _, name := range names {
		final, err := finalCounter(conn, name)
		if err != nil {
			return verdict, err
		}
		if verdict, err = checkCounter(key, ops, final); err != nil {
			return verdict, err
		}
	}
	return verdict, nil
}

// finalCounter reads a counter. A counter that was never incremented is zero.
func finalCounter(conn *respconn.Conn, key string) (int64, error) {
	v, err := conn.Do("GET", key)
	if err != nil || v.Null {
		return 0, err
	}
	text, err := v.Text()
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(text, 10, 64)
}

func finalList(conn *respconn.Conn, key string, ops []Op) (fmt.Stringer, error) {
	left, err := elements(conn, key)
	if err != nil {
		return listVerdict{key: key}, err
	}
	return checkList(key, ops, left)
}

func finalTransit(conn *respconn.Conn, key string, ops []Op) (fmt.Stringer, error) {
	from, to := transitKeys(key)
	in, err := elements(conn, from)
	if err != nil {
		return transitVerdict{key: key}, err
	}
	out, err := elements(conn, to)
	if err != nil {
		return transitVerdict{key: key}, err
	}
	return checkTransit(key, ops, in, out)
}

// elements are the elements of a list.
func elements(conn *respconn.Conn, key string) ([]string, error) {
	v, err := conn.Do("LRANGE", key, "0", "-1")
	if err != nil || v.IsError() {
		return nil, fmt.Errorf("%s: %s, %w", key, v, err)
	}
	var all []string
	for _, e := range v.Elems {
		all = append(all, string(e.Bytes))
	}
	return all, nil
}
