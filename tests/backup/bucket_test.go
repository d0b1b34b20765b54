package backup

import (
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"lockstep/tests/kit/proc"
)

// storage is an S3 server in this process, with one bucket.
type storage struct {
	*httptest.Server
	held *s3mem.Backend
	// before is called with each request. If it returns true, it has answered the request itself.
	before atomic.Pointer[func(http.ResponseWriter, *http.Request) bool]
	// parts counts the requests that uploaded a part. strangers counts the requests that were not
	// signed by the user that may write here.
	parts, strangers atomic.Int64
	// authority is the path of the file with the server's certificate.
	authority string
}

const bucketName = "backups"

func newStorage(t *testing.T) *storage {
	t.Helper()
	s := &storage{held: s3mem.New()}
	if err := s.held.CreateBucket(bucketName); err != nil {
		t.Fatal(err)
	}
	s3 := gofakes3.New(s.held).Server()
	s.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.Header.Get("Authorization"), "Credential=someone/") {
			s.strangers.Add(1)
		}
		if r.Method == http.MethodPut && r.URL.Query().Has("partNumber") {
			s.parts.Add(1)
		}
		if f := s.before.Load(); f != nil && (*f)(w, r) {
			return
		}
		s3.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	t.Cleanup(s.CloseClientConnections)
	s.authority = filepath.Join(t.TempDir(), "ca.pem")
	write(t, s.authority, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}))
	return s
}

// names returns the names of the objects in the bucket.
func (s *storage) names(t *testing.T) []string {
	t.Helper()
	list, err := s.held.ListBucket(bucketName, &gofakes3.Prefix{}, gofakes3.ListBucketPage{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, o := range list.Contents {
		names = append(names, o.Key)
	}
	return names
}

// change replaces an object's content by what how returns for it.
func (s *storage) change(t *testing.T, name string, how func([]byte) []byte) {
	t.Helper()
	o, err := s.held.GetObject(bucketName, name, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Contents.Close()
	data := make([]byte, o.Size)
	if _, err := readFull(o.Contents, data); err != nil {
		t.Fatal(err)
	}
	data = how(data)
	if _, err := s.held.PutObject(bucketName, name, map[string]string{}, strings.NewReader(string(data)), int64(len(data)), nil); err != nil {
		t.Fatal(err)
	}
}

// uploads reports whether the bucket has unfinished uploads.
func (s *storage) uploads(t *testing.T) bool {
	t.Helper()
	r, err := s.Client().Get(s.URL + "/" + bucketName + "?uploads")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text := make([]byte, 1<<20)
	n, _ := readFull(r.Body, text)
	return strings.Contains(string(text[:n]), "<UploadId>")
}

// ctl returns a clusterctl command that may write to the storage.
func (s *storage) ctl(t *testing.T, addr string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), proc.Clusterctl(t), append([]string{"-a", addr}, args...)...)
	cmd.Env = append(os.Environ(), "AWS_ENDPOINT_URL="+s.URL, "AWS_ACCESS_KEY_ID=someone", "AWS_SECRET_ACCESS_KEY=secret", "AWS_REGION=us-east-1", "SSL_CERT_FILE="+s.authority)
	return cmd
}

func (s *storage) run(t *testing.T, addr string, args ...string) (string, int) {
	t.Helper()
	cmd := s.ctl(t, addr, args...)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// TestABackupInABucket: a backup is uploaded to a bucket in parts, can be verified, and can be
// restored into a cluster with another number of shards. A backup that fails at any step leaves
// nothing behind.
func TestABackupInABucket(t *testing.T) {
	s := newStorage(t)
	source := proc.NewNode(t, proc.Options{Shards: 2})
	c := proc.Dial(t, source.Addr())
	for i := range 40 {
		proc.Do(t, c, "SET", fmt.Sprint("k", i), strings.Repeat(string(rune('a'+i%26)), 400_000))
	}
	const place = "s3://" + bucketName + "/one/monday"
	out, code := s.run(t, source.Addr(), "backup", place, "--s3-part-mb", "5")
	if code != 0 || !strings.Contains(out, "40 keys") {
		t.Fatalf("exit %d: %s", code, out)
	}
	if n, all := s.parts.Load(), strings.Join(s.names(t), " "); n < 4 || all != "one/monday/manifest.json one/monday/settings.json one/monday/shard-0000.rdb one/monday/shard-0001.rdb one/monday/users.acl" {
		t.Errorf("%d pieces, %s", n, all)
	}
	if out, code := s.run(t, source.Addr(), "backup", place); code != 4 || !strings.Contains(out, "not empty") {
		t.Errorf("a backup was overwritten: exit %d, %s", code, out)
	}
	if out, code := s.run(t, source.Addr(), "backup", "--verify", place, "-o", "json"); code != 0 || !strings.Contains(out, `"keys": 40`) {
		t.Errorf("exit %d: %s", code, out)
	}
	target := proc.NewNode(t, proc.Options{Shards: 3})
	if out, code := s.run(t, target.Addr(), "restore", place); code != 0 || !strings.Contains(out, "compared: 40 keys") {
		t.Errorf("exit %d: %s", code, out)
	}
	proc.MustAsk(t, target.Addr(), "FLUSHALL")
	s.change(t, "one/monday/shard-0001.rdb", func(b []byte) []byte { b[len(b)/2] ^= 1; return b })
	if out, code := s.run(t, target.Addr(), "restore", place); code != 4 || !strings.Contains(out, "nothing was done: the backup is damaged") || proc.MustAsk(t, target.Addr(), "DBSIZE") != "0" {
		t.Errorf("exit %d: %s", code, out)
	}
	if n := s.strangers.Load(); n > 0 {
		t.Errorf("%d requests by nobody", n)
	}
	t.Run("damaged on the way", func(t *testing.T) {
		damage := func(_ http.ResponseWriter, r *http.Request) bool {
			if r.Method == http.MethodPut && r.URL.Query().Get("partNumber") == "1" {
				r.Body = &flipped{r.Body}
			}
			return false
		}
		s.before.Store(&damage)
		defer s.before.Store(nil)
		before := len(s.names(t))
		out, code := s.run(t, source.Addr(), "backup", "s3://"+bucketName+"/four")
		if code != 4 || !strings.Contains(out, "what was written cannot be read back") || len(s.names(t)) != before {
			t.Errorf("exit %d: %s", code, out)
		}
	})
	t.Run("refused", func(t *testing.T) { s.refuses(t, source.Addr()) })
	t.Run("interrupted", func(t *testing.T) { s.interrupted(t, source.Addr()) })
}

// refuses lets the storage refuse one kind of request after the other. Each time the backup must
// fail and leave nothing behind.
func (s *storage) refuses(t *testing.T, addr string) {
	for what, is := range map[string]func(r *http.Request) bool{
		"a second piece": func(r *http.Request) bool {
			return r.Method == http.MethodPut && r.URL.Query().Get("partNumber") == "2"
		},
		"the end":      func(r *http.Request) bool { return r.Method == http.MethodPost && r.URL.Query().Has("uploadId") },
		"reading back": func(r *http.Request) bool { return r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, ".rdb") },
		"the manifest": func(r *http.Request) bool {
			return r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, "manifest.json")
		},
		"the permissions": func(r *http.Request) bool { return r.Method == http.MethodPost && r.URL.Query().Has("uploads") },
	} {
		refused := 0
		answer := func(w http.ResponseWriter, r *http.Request) bool {
			if !is(r) {
				return false
			}
			refused++
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, `<?xml version="1.0"?><Error><Code>AccessDenied</Code><Message>you may not</Message></Error>`)
			return true
		}
		before := len(s.names(t))
		s.before.Store(&answer)
		out, code := s.run(t, addr, "backup", "s3://"+bucketName+"/two", "--s3-part-mb", "5", "-o", "json")
		s.before.Store(nil)
		if code != 4 || refused == 0 || !strings.Contains(out, "no backup was made") || !strings.Contains(out, "you may not") {
			t.Errorf("%s: exit %d, %d refused: %s", what, code, refused, out)
		}
		if names := s.names(t); len(names) != before || s.uploads(t) {
			t.Errorf("%s: left behind: %v", what, names)
		}
	}
}

// flipped is a request body in which every read changes one bit.
type flipped struct{ io.ReadCloser }

// Read implements io.Reader.
func (f *flipped) Read(p []byte) (int, error) {
	n, err := f.ReadCloser.Read(p)
	if n > 0 {
		p[n/2] ^= 1
	}
	return n, err
}

// interrupted sends SIGINT to clusterctl while it uploads a part.
func (s *storage) interrupted(t *testing.T, addr string) {
	came := make(chan struct{}, 64)
	hang := func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPut || r.URL.Query().Get("partNumber") != "2" {
			return false
		}
		_, _ = readFull(r.Body, make([]byte, 64<<20))
		came <- struct{}{}
		<-r.Context().Done()
		return true
	}
	before := len(s.names(t))
	s.before.Store(&hang)
	cmd := s.ctl(t, addr, "backup", "s3://"+bucketName+"/three", "--s3-part-mb", "5")
	if err := proc.StartMortal(cmd); err != nil {
		t.Fatal(err)
	}
	select {
	case <-came:
	case <-time.After(patience):
		t.Fatal("no second piece has come")
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	err := cmd.Wait()
	s.before.Store(nil)
	if code := cmd.ProcessState.ExitCode(); code != 4 {
		t.Errorf("exit %d, %v", code, err)
	}
	if names := s.names(t); len(names) != before || s.uploads(t) {
		t.Errorf("left behind: %v", names)
	}
	// Afterwards a backup to the same place works, and so does one to a folder.
	for _, place := range []string{"s3://" + bucketName + "/three", filepath.Join(t.TempDir(), "b")} {
		if out, code := s.run(t, addr, "backup", place); code != 0 {
			t.Errorf("%s: exit %d: %s", place, code, out)
		}
	}
}

// TestABackupThatLosesANodeLeavesNothing: a backup fails and leaves nothing behind when the node
// that it reads from dies. The nodes that remain make the next one.
func TestABackupThatLosesANodeLeavesNothing(t *testing.T) {
	s := newStorage(t)
	// The backup reads from the node that leads when it begins. The long timeouts keep a pause of a
	// busy machine from changing the leader before the test kills it.
	cluster := proc.NewCluster(t, 3, proc.Options{Shards: 1, Args: []string{"--raft-heartbeat-ms", "1200", "--raft-election-ms", "1200"}})
	c := proc.Dial(t, cluster.Nodes[0].Addr())
	const keys = 64
	for i := range keys {
		proc.Do(t, c, "SET", fmt.Sprint("k", i), strings.Repeat(string(rune('a'+i%26)), 1_000_000))
	}
	// The leader may have changed during the writes.
	leader := cluster.WaitLeader()
	at := cluster.Nodes[(leader.Index+1)%len(cluster.Nodes)]
	var once sync.Once
	dies := func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPut && r.URL.Query().Has("partNumber") {
			once.Do(leader.Kill9)
		}
		return false
	}
	s.before.Store(&dies)
	out, code := s.run(t, at.Addr(), "backup", "s3://"+bucketName+"/one", "--s3-part-mb", "5")
	s.before.Store(nil)
	if code != 4 || !strings.Contains(out, "no backup was made") || leader.Running() {
		t.Errorf("exit %d, %s", code, out)
	}
	if names := s.names(t); len(names) != 0 || s.uploads(t) {
		t.Errorf("left behind: %v", names)
	}
	cluster.WaitLeader()
	if out, code := s.run(t, at.Addr(), "backup", "s3://"+bucketName+"/one"); code != 0 || !strings.Contains(out, fmt.Sprintf("%d keys", keys)) {
		t.Errorf("exit %d, %s", code, out)
	}
}
