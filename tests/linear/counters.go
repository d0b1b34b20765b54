package linear

import (
	"fmt"
	"slices"
	"strconv"
)

// counterVerdict sums up a counter's history.
type counterVerdict struct {
	key            string
	acked, unknown int
	final          int64
}

func (v counterVerdict) String() string {
	return fmt.Sprintf("%s is %d after %d acknowledged increments and %d of unknown outcome", v.key, v.final, v.acked, v.unknown)
}

// checkCounter checks the increments of one key that began at zero, given its value at the end. It
// needs no search: the results are a total order, which must not contradict the order of times.
func checkCounter(key string, history []Op, final int64) (counterVerdict, error) {
	v := counterVerdict{key: key, final: final}
	type result struct {
		value int64
		op    Op
	}
	var results []result
	for _, o := range history {
		if o.Key != key || !o.increments() || o.Null {
			continue
		}
		switch o.Outcome {
		case Unknown:
			v.unknown++
		case Done:
			n, err := strconv.ParseInt(o.Reply, 10, 64)
			if err != nil {
				return v, fmt.Errorf("%s: %s answered %q", key, o.Name, o.Reply)
			}
			results = append(results, result{n, o})
		}
	}
	v.acked = len(results)
	if final < int64(v.acked) || final > int64(v.acked+v.unknown) {
		return v, fmt.Errorf("%s: it must be between %d and %d", v, v.acked, v.acked+v.unknown)
	}
	slices.SortFunc(results, func(a, b result) int { return int(a.value - b.value) })
	latestCall := int64(-1)
	var latest Op
	for i, r := range results {
		if i > 0 && results[i-1].value == r.value {
			return v, fmt.Errorf("%s: %d was answered twice: %+v and %+v", key, r.value, results[i-1].op, r.op)
		}
		if r.value < 1 || r.value > final {
			return v, fmt.Errorf("%s: %d was answered, and it ends at %d: %+v", key, r.value, final, r.op)
		}
		// All increments with smaller results must have been called before this one returned.
		if r.op.Return < latestCall {
			return v, fmt.Errorf("%s: %+v had returned before %+v began, which got the smaller result", key, r.op, latest)
		}
		if r.op.Call > latestCall {
			latestCall, latest = r.op.Call, r.op
		}
	}
	return v, nil
}

// checkQuota checks a quota: it gave no more than its limit, and nothing to a client that asked
// after another client had been refused.
func checkQuota(key string, history []Op, final int64) error {
	if final > quotaLimit {
		return fmt.Errorf("%s: %d were given of %d", key, final, quotaLimit)
	}
	if _, err := checkCounter(key, history, final); err != nil {
		return err
	}
	spent := int64(-1)
	for _, o := range history {
		if o.Key == key && o.Outcome == Done && o.Null && (spent < 0 || o.Return < spent) {
			spent = o.Return
		}
	}
	if spent >= 0 && final < quotaLimit {
		return fmt.Errorf("%s: one was refused, and %d were given of %d", key, final, quotaLimit)
	}
	for _, o := range history {
		if o.Key == key && o.Outcome == Done && !o.Null && spent >= 0 && o.Call > spent {
			return fmt.Errorf("%s: %+v was given after another was refused", key, o)
		}
	}
	return nil
}
