package tracking

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"lockstep/tests/kit/respconn"
)

// cache is a client with a local cache, as redis.io describes it. It reads a key from the node only
// when it has no value for the key.
type cache struct {
	name, addr string
	mode       mode
	mu         sync.Mutex
	values     map[string]string
	// asked is the key that a reply is awaited for. doubted is true if that key was invalidated
	// meanwhile. That matters only when invalidations come on another connection.
	asked   string
	doubted bool
	// news counts the invalidations, hits and misses count the lookups, and lost counts the
	// connections that broke.
	news, hits, misses, lost int
	// silent is true if a reply did not come in time.
	silent bool
	// heard, if set, is called for each invalidation. An empty key means all keys.
	heard func(key string)

	data    *respconn.Conn
	replies chan string
	ends    chan struct{}
}

// mode is a way in which a cache receives invalidations.
type mode struct {
	name string
	// redirect is true if they come on a second connection, in RESP2.
	redirect bool
	options  []string
}

var modes = []mode{
	{name: "push"},
	{name: "redirect", redirect: true},
	{name: "bcast", options: []string{"BCAST", "PREFIX", "k"}},
	{name: "noloop", options: []string{"NOLOOP"}},
}

// connect opens the connections and starts with an empty cache. It returns an error if the node is
// not there.
func (c *cache) connect() error {
	c.mu.Lock()
	c.values = map[string]string{}
	c.mu.Unlock()
	data, err := respconn.DialTimeout(c.addr, patience)
	if err != nil {
		return err
	}
	c.data, c.replies, c.ends = data, make(chan string, 1), make(chan struct{})
	args := append([]string{"CLIENT", "TRACKING", "ON"}, c.mode.options...)
	if c.mode.redirect {
		news, err := respconn.DialTimeout(c.addr, patience)
		if err != nil {
			data.Close()
			return err
		}
		id, err := news.Do("CLIENT", "ID")
		if err == nil {
			_, err = news.Do("SUBSCRIBE", "__redis__:invalidate")
		}
		if err != nil {
			data.Close()
			news.Close()
			return err
		}
		args = append(args, "REDIRECT", strings.TrimPrefix(id.String(), ":"))
		go c.listen(news, nil)
		go func() {
			<-c.ends
			news.Close()
		}()
	} else if _, err := data.Do("HELLO", "3"); err != nil {
		data.Close()
		return err
	}
	if v, err := data.Do(args...); err != nil || v.String() != "+OK" {
		data.Close()
		close(c.ends)
		return fmt.Errorf("%v %w", v, errors.Join(err, errNot))
	}
	go c.listen(data, c.ends)
	return nil
}

var errNot = errors.New("tracking was not turned on")

// listen handles the messages of a connection in order: invalidations and replies.
func (c *cache) listen(conn *respconn.Conn, ends chan struct{}) {
	if ends != nil {
		defer close(ends)
	}
	conn.Patience = 10 * time.Minute
	// Without invalidations no cached value can be trusted any more.
	defer func() {
		c.mu.Lock()
		clear(c.values)
		c.mu.Unlock()
	}()
	for {
		v, err := conn.Read()
		if err != nil {
			return
		}
		switch {
		case v.Kind == '>' && string(v.Elems[0].Bytes) == "invalidate":
			c.invalidate(v.Elems[1])
		case v.Kind == '*' && len(v.Elems) == 3 && string(v.Elems[1].Bytes) == "__redis__:invalidate":
			c.invalidate(v.Elems[2])
		default:
			c.answer(v)
		}
	}
}

func (c *cache) invalidate(keys respconn.Value) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.news++
	told := []string{""}
	if keys.Null {
		clear(c.values)
		c.doubted = true
	} else {
		told = nil
		for _, key := range keys.Elems {
			told = append(told, string(key.Bytes))
			delete(c.values, string(key.Bytes))
			c.doubted = c.doubted || string(key.Bytes) == c.asked
		}
	}
	if c.heard != nil {
		for _, key := range told {
			c.heard(key)
		}
	}
}

// answer caches the value of a reply, in the order in which replies and invalidations come.
func (c *cache) answer(v respconn.Value) {
	c.mu.Lock()
	if c.asked != "" && !v.IsError() && !(c.mode.redirect && c.doubted) {
		c.values[c.asked] = textOf(v)
	}
	c.asked = ""
	c.mu.Unlock()
	c.replies <- textOf(v)
}

// textOf returns a value in a form that is the same in both protocols.
func textOf(v respconn.Value) string {
	if v.Null {
		return "(nil)"
	}
	return v.String()
}

// look returns a key's value, from the cache if it is there and otherwise from the node. It returns
// false if the connection has ended.
func (c *cache) look(key string) (string, bool) {
	c.mu.Lock()
	value, cached := c.values[key]
	if cached {
		c.hits++
		c.mu.Unlock()
		return value, true
	}
	c.misses++
	c.asked, c.doubted = key, false
	c.mu.Unlock()
	if c.data.Send("GET", key) != nil {
		return "", false
	}
	return c.reply()
}

func (c *cache) reply() (string, bool) {
	select {
	case v := <-c.replies:
		return v, true
	case <-c.ends:
		return "", false
	case <-time.After(patience):
		c.mu.Lock()
		c.silent = true
		c.mu.Unlock()
		return "", false
	}
}

// do runs a command that is not cached.
func (c *cache) do(t testing.TB, args ...string) string {
	t.Helper()
	if err := c.data.Send(args...); err != nil {
		t.Fatal(err)
	}
	v, ok := c.reply()
	if !ok {
		t.Fatalf("%q: no answer", args)
	}
	return v
}

// close closes the connection and waits until its reader has ended.
func (c *cache) close() {
	if c.data != nil {
		c.data.Close()
		<-c.ends
	}
}

// stale compares the cached values with the values in store.
func (c *cache) stale(store map[string]string) (wrong []string, cached int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, value := range c.values {
		if store[key] != value {
			wrong = append(wrong, fmt.Sprintf("%s: %s has %s, there is %s", c.name, key, value, store[key]))
		}
	}
	return wrong, len(c.values)
}
