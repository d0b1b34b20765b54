package kubelet

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// examine runs the container's probes as the real kubelet does, as long as the container runs:
// first the startup probe, then the others. It sends on sick when the container must be restarted.
func (c *container) examine(ctx context.Context, sick chan<- struct{}) {
	if probe := c.api.StartupProbe; probe != nil {
		started := make(chan struct{})
		until, stop := context.WithCancel(ctx)
		c.ask(until, probe, false, func(well bool) {
			if well {
				close(started)
			} else {
				sick <- struct{}{}
			}
			stop()
		})
		stop()
		if !closed(started) {
			return
		}
	}
	c.set(func() { c.started, c.ready = true, c.api.ReadinessProbe == nil })
	var both sync.WaitGroup
	defer both.Wait()
	if probe := c.api.LivenessProbe; probe != nil {
		until, stop := context.WithCancel(ctx)
		both.Go(func() {
			defer stop()
			c.ask(until, probe, true, func(well bool) {
				if !well {
					sick <- struct{}{}
					stop()
				}
			})
		})
		// The liveness probe stops when the pod is told to end.
		both.Go(func() {
			select {
			case <-c.p.end:
			case <-until.Done():
			}
			stop()
		})
	}
	if probe := c.api.ReadinessProbe; probe != nil {
		both.Go(func() {
			c.ask(ctx, probe, false, func(well bool) {
				what := Unready
				if well {
					what = Ready
				}
				c.p.k.note(c.p, what)
				c.set(func() { c.ready = well && c.cmd != nil })
			})
		})
	}
}

// set changes the state of a container and reports it.
func (c *container) set(change func()) {
	c.p.mu.Lock()
	change()
	c.p.mu.Unlock()
	c.p.change()
}

// ask runs one probe until ctx ends, and calls tell at each change. The state changes after as many
// equal results in a row as the probe demands. well is the first state.
func (c *container) ask(ctx context.Context, probe *corev1.Probe, well bool, tell func(well bool)) {
	period := time.Duration(probe.PeriodSeconds) * time.Second
	next := time.NewTimer(time.Duration(probe.InitialDelaySeconds) * time.Second)
	defer next.Stop()
	row, told := int32(0), false
	for last := well; ; {
		select {
		case <-ctx.Done():
			return
		case <-next.C:
		}
		next.Reset(period)
		err := c.try(ctx, probe)
		if ctx.Err() != nil {
			return
		}
		if (err == nil) != last {
			last, row = err == nil, 0
		}
		row++
		enough := probe.FailureThreshold
		if last {
			enough = probe.SuccessThreshold
		}
		if row >= enough && (last != well || !last && !told) {
			well, told = last, true
			tell(well)
		}
	}
}

// try runs a probe once.
func (c *container) try(ctx context.Context, probe *corev1.Probe) error {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(probe.TimeoutSeconds)*time.Second)
	defer cancel()
	url := fmt.Sprintf("%s://%s:%d%s", strings.ToLower(string(probe.HTTPGet.Scheme)), c.p.leg.Addr, c.port(probe.HTTPGet.Port), probe.HTTPGet.Path)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	request.Header.Set("User-Agent", "kube-probe/1.37")
	// The real kubelet does not verify the certificate either.
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	answer, err := client.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(answer.Body, 4<<10))
	if answer.StatusCode < http.StatusOK || answer.StatusCode >= http.StatusBadRequest {
		return fmt.Errorf("%d: %s", answer.StatusCode, strings.TrimSpace(string(text)))
	}
	return nil
}

// port returns the number of a port, which may be given by name.
func (c *container) port(p intstr.IntOrString) int {
	for _, named := range c.api.Ports {
		if p.Type == intstr.String && named.Name == p.StrVal {
			return int(named.ContainerPort)
		}
	}
	return p.IntValue()
}
