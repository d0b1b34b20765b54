// Package demo runs a cluster of real lockstepd processes on this machine, for a person
// to watch and to break: kill -9 a node, start it again, move the leader, switch a write
// load on. A checker reads back the acknowledged writes and counts those that are missing.
package demo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Process is one lockstepd and its folder.
type Process struct {
	Name string
	Port int
	// Page is the address of the node's web page; "" if it has none.
	Page string

	binary string
	args   []string
	log    string

	mu     sync.Mutex // guards cmd, exited
	cmd    *exec.Cmd
	exited chan struct{}
}

func nodeName(i int) string { return "n" + strconv.Itoa(i+1) }

// newProcess describes node number i (from 0); the first bootstraps the
// cluster and the others join it.
func newProcess(binary, dir string, firstPort, i int, more []string) *Process {
	port := firstPort + i
	name := nodeName(i)
	p := &Process{
		Name: name, Port: port, binary: binary,
		log: filepath.Join(dir, name+".log"),
		args: []string{
			"--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--node-name", name,
			"--dir", filepath.Join(dir, name),
		},
	}
	if i == 0 {
		p.args = append(p.args, "--bootstrap")
	} else {
		p.args = append(p.args, "--join", fmt.Sprintf("127.0.0.1:%d", firstPort+peerPortDistance))
	}
	// If another program has the port, there is no page, and everything else works.
	if admin := port + pagePortDistance; !slices.ContainsFunc(more, setsAdminPort) && checkPort(admin) == nil {
		p.args = append(p.args, "--admin-port", strconv.Itoa(admin))
		p.Page = fmt.Sprintf("http://127.0.0.1:%d/", admin)
	}
	p.args = append(p.args, more...)
	return p
}

func setsAdminPort(arg string) bool { return strings.HasPrefix(arg, "--admin-port") }

// These are the distances of the peer port and the page's port from the client port.
const (
	peerPortDistance = 10000
	pagePortDistance = 1000
)

// Addr is the node's client address.
func (p *Process) Addr() string { return fmt.Sprintf("127.0.0.1:%d", p.Port) }

// Start starts the process if it does not run.
func (p *Process) Start() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd != nil {
		return nil
	}
	out, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer out.Close()
	cmd := exec.Command(p.binary, p.args...)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = ofTheDemo()
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", p.Name, err)
	}
	exited := make(chan struct{})
	p.cmd, p.exited = cmd, exited
	go func() {
		_ = cmd.Wait()
		p.mu.Lock()
		if p.cmd == cmd {
			p.cmd = nil
		}
		p.mu.Unlock()
		close(exited)
	}()
	return nil
}

// Running reports whether the process lives.
func (p *Process) Running() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cmd != nil
}

// Signal sends a signal if the process runs.
func (p *Process) Signal(s syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd != nil {
		_ = p.cmd.Process.Signal(s)
	}
}

// Stop ends the process by SIGTERM, or by SIGKILL if that takes too long.
func (p *Process) Stop(patience time.Duration) {
	p.mu.Lock()
	cmd, exited := p.cmd, p.exited
	p.mu.Unlock()
	if cmd == nil {
		return
	}
	p.Signal(syscall.SIGTERM)
	select {
	case <-exited:
	case <-time.After(patience):
		p.Signal(syscall.SIGKILL)
		<-exited
	}
}

// lastWords returns the last lines of the process's log.
func (p *Process) lastWords() string {
	data, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	const max = 800
	if len(data) > max {
		data = data[len(data)-max:]
	}
	return string(data)
}

// checkPorts makes sure that the demo's ports are free.
func checkPorts(first, nodes int) error {
	for i := range nodes {
		for _, port := range []int{first + i, first + i + peerPortDistance} {
			err := checkPort(port)
			if errors.Is(err, syscall.EADDRINUSE) {
				return fmt.Errorf("port %d is taken by another program; choose other ports with --port", port)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func checkPort(port int) error {
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return err
	}
	return l.Close()
}

// checkKept makes the folder for the data. It refuses a folder with the data of more
// nodes: the nodes that start might then never be a quorum.
func checkKept(dir string, nodes int) error {
	for i := nodes; i < nodesMax; i++ {
		if _, err := os.Stat(filepath.Join(dir, nodeName(i))); err == nil {
			return fmt.Errorf("%s holds the data of a cluster with a node %s; give --nodes %d or more, or another folder to --keep", dir, nodeName(i), i+1)
		}
	}
	return os.MkdirAll(dir, 0o700)
}

// buildBinary builds lockstepd from the module this program was started in.
func buildBinary(ctx context.Context, dir string) (string, error) {
	path := filepath.Join(dir, "lockstepd")
	cmd := exec.CommandContext(ctx, "go", "build", "-tags", "hashicorpmetrics", "-o", path, "lockstep/cmd/lockstepd")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build lockstepd (run the demo inside the repository, or name a binary with --binary): %w\n%s", err, out)
	}
	return path, nil
}
