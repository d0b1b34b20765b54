package clock

import (
	"math/rand/v2"
	"testing"
)

const hour = int64(3_600_000_000)

// at returns readings of clocks that show these times at the moment 0, each known within a
// millisecond.
func at(wallsUs ...int64) []Reading {
	var all []Reading
	for _, w := range wallsUs {
		all = append(all, Reading{LeastUs: w - 500, MostUs: w + 500})
	}
	return all
}

func TestAMajoritySaysWhatTheTimeIs(t *testing.T) {
	const now = 1_700_000_000_000_000
	for name, c := range map[string]struct {
		nodes       int
		read        []Reading
		least, most int64
	}{
		"nobody":                       {3, nil, Never, Always},
		"alone":                        {1, at(now), now - 500, now + 500},
		"one of three":                 {3, at(now), Never, Always},
		"one is an hour ahead":         {3, at(now, now+hour, now), now - 500, now + 500},
		"one is an hour behind":        {3, at(now-hour, now, now), now - 500, now + 500},
		"one ahead, one behind":        {3, at(now-hour, now, now+hour), now - 500, now + 500},
		"two of three, and they agree": {3, at(now, now), now - 500, now + 500},
		"two of three do not agree":    {3, at(now, now+hour), now - 500, now + hour + 500},
		"two do not agree":             {2, at(now+hour, now), now - 500, now + hour + 500},
		"one of two":                   {2, at(now), Never, Always},
		"four, of which two are wrong": {4, at(now, now+hour, now+hour, now), now - 500, now + hour + 500},
		"five, of which two are wrong": {5, at(now+hour, now, now, now+hour, now), now - 500, now + 500},
		"no nodes":                     {0, at(now), Never, Always},
	} {
		if least, most := Majority(c.nodes, c.read); least != c.least || most != c.most {
			t.Errorf("%s: %d to %d, want %d to %d", name, least, most, c.least, c.most)
		}
	}
}

// Whatever a minority reports, and however few clocks are read: a majority never says that it is
// later than all right clocks show, nor earlier than all of them.
func TestAMinorityMovesNoTime(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 100_000 {
		nodes := 1 + r.IntN(7)
		right := nodes/2 + 1
		first, last := int64(1<<62), int64(-1<<62)
		var all []Reading
		for i := range nodes {
			wall := r.Int64N(1000)
			if i >= right {
				wall = r.Int64N(4*hour) - 2*hour
			} else {
				first, last = min(first, wall), max(last, wall)
			}
			sent := -r.Int64N(2000)
			// The clock was read at some moment between sent and 1000.
			all = append(all, Take(wall+sent+r.Int64N(1001-sent), sent, 1000))
		}
		r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		least, most := Majority(nodes, all[:r.IntN(nodes+1)])
		if least != Never && (least > last || most < first || least > most) {
			t.Fatalf("right clocks show %d to %d, and a majority of %d says %d to %d", first, last, nodes, least, most)
		}
	}
}

func TestWhatIsSaidDoesNotOverflow(t *testing.T) {
	for _, wall := range []int64{-timeMax + 1, timeMax - 1} {
		r := Take(wall, -hour, 1<<62)
		least, most := Majority(1, []Reading{r})
		if least == Never || most == Always || least > most {
			t.Errorf("%d becomes %d to %d", wall, least, most)
		}
	}
	if got := plus(1<<62, 1<<62); got != 1<<63-2 {
		t.Errorf("a sum that is too large is %d", got)
	}
	if got := minus(-1<<62, 1<<62+5); got != -1<<63+1 {
		t.Errorf("a difference that is too small is %d", got)
	}
}

func TestHowFarAwayATimeIs(t *testing.T) {
	for _, c := range []struct{ us, least, most, want int64 }{
		{5, 5, 9, 0}, {9, 5, 9, 0}, {4, 5, 9, -1}, {12, 5, 9, 3}, {7, Never, Always, 0},
	} {
		if got := Away(c.us, c.least, c.most); got != c.want {
			t.Errorf("%d is %d away from %d to %d, want %d", c.us, got, c.least, c.most, c.want)
		}
	}
}
