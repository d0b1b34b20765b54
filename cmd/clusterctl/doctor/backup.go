package doctor

import (
	"fmt"
	"time"

	"lockstep/node/status"
)

const (
	// backupAdvice is the age of a daily backup that was missed, backupRisk that of a
	// weekly one.
	backupAdvice = 36 * time.Hour
	backupRisk   = 8 * 24 * time.Hour
)

// backup looks at how old the newest backup is, by the clock of the node that was
// asked: one that is made by a timetable stops without a word.
func (e *exam) backup(check string) {
	const do = "clusterctl backup; if something does that by a timetable, look at what it said last"
	if e.cluster.LastBackupMs == 0 {
		e.find(Advice, check, "", "no backup of it is known of", "clusterctl backup, once a day")
		return
	}
	e.each(func(h *status.Host) {
		age := time.Duration(h.ClockMs-e.cluster.LastBackupMs) * time.Millisecond
		if h.Name != e.cluster.Seen || age < backupAdvice {
			return
		}
		what := fmt.Sprintf("its newest backup is %d hours old", int(age.Hours()))
		if age < backupRisk {
			e.find(Advice, check, "", what, do)
		} else {
			e.find(Risk, check, "", what, do)
		}
	})
}
