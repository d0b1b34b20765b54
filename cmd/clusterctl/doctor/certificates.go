package doctor

import (
	"fmt"
	"time"

	"lockstep/node/status"
)

// certificateRisk is how long before its end a certificate should be renewed.
const certificateRisk = 30 * 24 * time.Hour

// certificates checks when certificates expire, by the clock of their node, and whether the files
// can be used as they are now.
func (e *exam) certificates(check string) {
	e.each(func(h *status.Host) {
		if h.TLSProblem != "" {
			e.find(Risk, check, h.Name, "its certificate files cannot be used as they are now: "+h.TLSProblem,
				"correct them; the earlier ones stay in force until the node ends, and it would not start again")
		}
		for _, c := range h.Certificates {
			left := time.Duration(c.ExpiresMs-h.ClockMs) * time.Millisecond
			what := fmt.Sprintf("the certificate %s (%s, %s)", c.Subject, c.Use, c.File)
			do := "renew it; the files are read again within seconds, without a restart"
			switch {
			case left <= 0:
				e.find(Ill, check, h.Name, what+" has expired", do)
			case left < certificateRisk:
				e.find(Risk, check, h.Name, fmt.Sprintf("%s expires in %d days", what, int(left.Hours()/24)), do)
			}
		}
	})
}
