package page

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"lockstep/tests/kit/proc"
)

// browserPatience is how long Chromium may take for one command when every core of the machine is
// busy.
const browserPatience = 60 * time.Second

// browser is a headless Chromium that is controlled over a pipe by the DevTools protocol: JSON
// messages, each followed by a zero byte.
type browser struct {
	t  testing.TB
	in *os.File

	mu      sync.Mutex
	next    int
	waiting map[int]chan message
	tabs    map[string]*tab
}

// message is a command, a reply or an event.
type message struct {
	ID      int             `json:"id,omitempty"`
	Session string          `json:"sessionId,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  any             `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *struct {
		Message string `json:"message"`
	} `json:"error,omitempty"`
}

// openBrowser starts Chromium. It skips the test if Chromium is not installed.
func openBrowser(t testing.TB) *browser {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		proc.Skip(t, "chromium is not installed")
	}
	toIt, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, fromIt, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	// The tests may run as root, where Chromium has no sandbox. The page is our own, so no sandbox
	// is needed.
	cmd := exec.Command(path, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--no-proxy-server",
		"--disable-background-networking", "--hide-scrollbars", "--user-data-dir="+dir, "--remote-debugging-pipe", "about:blank")
	cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_CONFIG_HOME="+dir, "XDG_CACHE_HOME="+dir)
	cmd.ExtraFiles = []*os.File{toIt, fromIt}
	// The browser starts further processes. They end with its process group.
	if err := proc.StartMortal(cmd); err != nil {
		t.Fatal(err)
	}
	toIt.Close()
	fromIt.Close()
	b := &browser{t: t, in: in, waiting: map[int]chan message{}, tabs: map[string]*tab{}}
	go b.read(out)
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
		in.Close()
	})
	return b
}

// read passes on the messages of Chromium until it ends.
func (b *browser) read(out *os.File) {
	defer out.Close()
	r := bufio.NewReader(out)
	for {
		text, err := r.ReadBytes(0)
		if err != nil {
			return
		}
		var m struct {
			message
			Params json.RawMessage `json:"params"`
		}
		if json.Unmarshal(bytes.TrimRight(text, "\x00"), &m) != nil {
			continue
		}
		b.mu.Lock()
		if answer := b.waiting[m.ID]; m.ID != 0 && answer != nil {
			delete(b.waiting, m.ID)
			answer <- m.message
		} else if tab := b.tabs[m.Session]; tab != nil {
			tab.hear(m.Method, m.Params)
		}
		b.mu.Unlock()
	}
}

// order sends a command to Chromium and returns the result.
func (b *browser) order(session, method string, params, result any) error {
	b.mu.Lock()
	b.next++
	id, answer := b.next, make(chan message, 1)
	b.waiting[id] = answer
	text, err := json.Marshal(message{ID: id, Session: session, Method: method, Params: params})
	if err == nil {
		_, err = b.in.Write(append(text, 0))
	}
	b.mu.Unlock()
	if err != nil {
		return err
	}
	select {
	case m := <-answer:
		if m.Error != nil {
			return fmt.Errorf("%s: %s", method, m.Error.Message)
		}
		if result == nil {
			return nil
		}
		return json.Unmarshal(m.Result, result)
	case <-time.After(browserPatience):
		return fmt.Errorf("%s: Chromium has not answered for %v", method, browserPatience)
	}
}

// tab is a page in the browser.
type tab struct {
	b       *browser
	session string

	mu sync.Mutex
	// problems are the errors and warnings of the page's console. asked are the addresses that the
	// page has fetched.
	problems, asked []string
}

type words map[string]any

// open opens an address in a window of the given width.
func (b *browser) open(url string, width int, dark bool) *tab {
	b.t.Helper()
	var target struct {
		ID string `json:"targetId"`
	}
	var attached struct {
		Session string `json:"sessionId"`
	}
	p := &tab{b: b}
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	must := func(err error) {
		if err != nil {
			b.t.Helper()
			b.t.Fatal(err)
		}
	}
	must(b.order("", "Target.createTarget", words{"url": "about:blank", "newWindow": true}, &target))
	must(b.order("", "Target.attachToTarget", words{"targetId": target.ID, "flatten": true}, &attached))
	p.session = attached.Session
	b.mu.Lock()
	b.tabs[p.session] = p
	b.mu.Unlock()
	for _, domain := range []string{"Runtime", "Log", "Page", "Network"} {
		must(b.order(p.session, domain+".enable", words{}, nil))
	}
	must(b.order(p.session, "Emulation.setDeviceMetricsOverride", words{"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}, nil))
	must(b.order(p.session, "Emulation.setEmulatedMedia", words{"features": []words{{"name": "prefers-color-scheme", "value": scheme}, {"name": "prefers-reduced-motion", "value": "reduce"}}}, nil))
	// A page that is not visible sends no requests.
	must(b.order(p.session, "Emulation.setFocusEmulationEnabled", words{"enabled": true}, nil))
	must(b.order(p.session, "Page.navigate", words{"url": url}, nil))
	return p
}

// hear handles an event of the page.
func (p *tab) hear(method string, params json.RawMessage) {
	var e struct {
		Type  string `json:"type"`
		Entry struct {
			Level, Text, URL string
		} `json:"entry"`
		Details json.RawMessage `json:"exceptionDetails"`
		Request struct {
			URL string `json:"url"`
		} `json:"request"`
	}
	_ = json.Unmarshal(params, &e)
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case method == "Runtime.exceptionThrown":
		p.problems = append(p.problems, string(e.Details))
	case method == "Runtime.consoleAPICalled" && (e.Type == "error" || e.Type == "warning" || e.Type == "assert"):
		p.problems = append(p.problems, string(params))
	case method == "Log.entryAdded" && (e.Entry.Level == "error" || e.Entry.Level == "warning"):
		p.problems = append(p.problems, e.Entry.Text+" "+e.Entry.URL)
	case method == "Network.requestWillBeSent":
		p.asked = append(p.asked, e.Request.URL)
	}
}

// heard returns the problems and the fetched addresses so far.
func (p *tab) heard() (problems, asked []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.problems...), append([]string(nil), p.asked...)
}

// eval runs JavaScript in the page and stores the result.
func (p *tab) eval(expression string, result any) error {
	var answer struct {
		Result struct {
			Value json.RawMessage `json:"value"`
		} `json:"result"`
		Thrown *struct {
			Text      string `json:"text"`
			Exception struct {
				Description string `json:"description"`
			} `json:"exception"`
		} `json:"exceptionDetails"`
	}
	if err := p.b.order(p.session, "Runtime.evaluate", words{"expression": expression, "returnByValue": true, "awaitPromise": true}, &answer); err != nil {
		return err
	}
	if answer.Thrown != nil {
		return errors.New(strings.TrimSpace(answer.Thrown.Text + " " + answer.Thrown.Exception.Description))
	}
	if result == nil {
		return nil
	}
	return json.Unmarshal(answer.Result.Value, result)
}

// await waits until an expression is true.
func (p *tab) await(what, expression string) {
	p.b.t.Helper()
	var last error
	if !proc.Poll(browserPatience, func() bool {
		yes := false
		last = p.eval(expression, &yes)
		return last == nil && yes
	}) {
		var text string
		_ = p.eval("document.body.innerText", &text)
		problems, _ := p.heard()
		p.b.t.Fatalf("%s does not come (%v); the page says:\n%s\nproblems: %q", what, last, text, problems)
	}
}

// press presses a key.
func (p *tab) press(key string) {
	p.b.t.Helper()
	for _, kind := range []string{"keyDown", "keyUp"} {
		if err := p.b.order(p.session, "Input.dispatchKeyEvent", words{"type": kind, "key": key, "code": key}, nil); err != nil {
			p.b.t.Fatal(err)
		}
	}
}

// picture returns the whole page as a PNG.
func (p *tab) picture() []byte {
	p.b.t.Helper()
	var shot struct {
		Data string `json:"data"`
	}
	if err := p.b.order(p.session, "Page.captureScreenshot", words{"format": "png", "captureBeyondViewport": true}, &shot); err != nil {
		p.b.t.Fatal(err)
	}
	data, err := base64.StdEncoding.DecodeString(shot.Data)
	if err != nil {
		p.b.t.Fatal(err)
	}
	return data
}
