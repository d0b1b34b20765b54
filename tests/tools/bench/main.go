// Command bench measures Lockstep and redis-server on this machine: the same loads, alternating
// rounds, medians, and the ratios against the targets.
//
//	go run ./tests/tools/bench -rounds 5 -docs              everything
//	go run ./tests/tools/bench -quick -scenario one-node    a short look, under a minute
//
// With -docs it writes the tables into docs/benchmarks.md.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"
)

func main() {
	b := &bench{nextPort: 21000}
	pattern := flag.String("scenario", ".", "run the scenarios whose name matches")
	docs := flag.Bool("docs", false, "write the tables into docs/benchmarks.md")
	flag.IntVar(&b.rounds, "rounds", 5, "alternating rounds per measure")
	flag.BoolVar(&b.quick, "quick", false, "a tenth of the requests")
	flag.StringVar(&b.lockstep, "binary", "", "the lockstepd to measure (default: built now)")
	flag.Parse()
	if err := b.main(*pattern, *docs); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func (b *bench) main(pattern string, docs bool) error {
	want, err := regexp.Compile(pattern)
	if err != nil {
		return err
	}
	for _, tool := range []string{"redis-server", "redis-benchmark"} {
		if _, err := exec.LookPath(tool); err != nil {
			return fmt.Errorf("%s is needed to measure beside it: apt-get install redis-server redis-tools", tool)
		}
	}
	if b.dir, err = os.MkdirTemp("", "lockstep-bench-"); err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)
	if err := b.build(); err != nil {
		return err
	}
	machine := b.machine()
	var ran []section
	for _, s := range scenarios {
		if !want.MatchString(s.name) {
			continue
		}
		b.rows, b.notes = nil, nil
		begin := time.Now()
		if err := s.run(b); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		text := strings.Join(append([]string{b.when(machine), markdown(b.rows)}, b.notes...), "\n\n")
		ran = append(ran, section{s.name, text})
		fmt.Printf("%s: %v\n%s%s\n\n", s.name, time.Since(begin).Round(time.Second), markdown(b.rows), strings.Join(b.notes, "\n"))
	}
	if docs {
		return writeDocs("docs/benchmarks.md", ran)
	}
	return nil
}

func (b *bench) build() error {
	if b.lockstep != "" {
		return nil
	}
	b.lockstep = filepath.Join(b.dir, "lockstepd")
	if out, err := exec.Command("go", "build", "-tags", "hashicorpmetrics", "-o", b.lockstep, "lockstep/cmd/lockstepd").CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}

// machine describes the machine of the measurement.
func (b *bench) machine() string {
	cpu := "unknown CPU"
	if data, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		if m := regexp.MustCompile(`model name\s*:\s*(.*)`).FindSubmatch(data); m != nil {
			cpu = string(m[1])
		}
	}
	mem := ""
	if data, err := os.ReadFile("/proc/meminfo"); err == nil {
		mem = strings.Join(strings.Fields(strings.SplitN(string(data), "\n", 2)[0])[1:], " ")
	}
	version, _ := exec.Command("redis-server", "--version").Output()
	redis := ""
	if m := regexp.MustCompile(`v=(\S+)`).FindSubmatch(version); m != nil {
		redis = string(m[1])
	}
	return fmt.Sprintf("%s, %d cores, %s, fsync of 4 KiB p50 %.2f ms; %s, redis-server %s",
		cpu, runtime.NumCPU(), mem, b.fsyncMs(), runtime.Version(), redis)
}

// when names the commit and the machine of the figures.
func (b *bench) when(machine string) string {
	commit, _ := exec.Command("git", "rev-parse", "--short", "HEAD").Output()
	quick := ""
	if b.quick {
		quick = ", `-quick`: a tenth of the requests"
	}
	return fmt.Sprintf("Measured %s at commit %s, %d rounds%s, on %s. Log store "+defaultStore+", unless a row says another.", time.Now().UTC().Format("2006-01-02"), strings.TrimSpace(string(commit)), b.rounds, quick, machine)
}

// fsyncMs is the median time of appending and syncing 4 KiB.
func (b *bench) fsyncMs() float64 {
	f, err := os.CreateTemp(b.dir, "fsync-")
	if err != nil {
		return 0
	}
	defer f.Close()
	var s sample
	block := make([]byte, 4096)
	for range 200 {
		begin := time.Now()
		if _, err := f.Write(block); err != nil {
			return 0
		}
		if err := f.Sync(); err != nil {
			return 0
		}
		s = append(s, float64(time.Since(begin).Microseconds())/1000)
	}
	return s.median()
}
