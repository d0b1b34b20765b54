package doctor

import (
	"fmt"
	"time"

	"lockstep/node/status"
)

const (
	// backupAdvice is the age of the newest backup at which a daily backup was missed, backupRisk
	// the age at which a weekly one was.
	backupAdvice = 36 * time.Hour
	backupRisk   = 8 * 24 * time.Hour
)

// backup checks the age of the newest backup, by the clock of the node that was asked: a scheduled
// backup may stop without a message.
func (e *exam) backup(check string) {
	const do = "clusterctl backup; if a schedule runs it, look at its last output"
	if e.cluster.LastBackupMs == 0 {
		e.find(Advice, check, "", "no backup of it is known", "clusterctl backup, once a day")
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
