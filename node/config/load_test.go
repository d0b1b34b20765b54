package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// load loads a configuration whose standard input is text.
func load(t *testing.T, text string, env []string, args ...string) (*Config, []Warning, error) {
	t.Helper()
	if text != "" {
		args = append(args, "-")
	}
	return Load(args, env, strings.NewReader(text))
}

func mustLoad(t *testing.T, text string, env []string, args ...string) *Settings {
	t.Helper()
	c, _, err := load(t, text, env, args...)
	if err != nil {
		t.Fatal(err)
	}
	return c.Current()
}

// wantError checks that the error's text contains every part.
func wantError(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error; want one with %q", parts)
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("error %q lacks %q", err, p)
		}
	}
}

func writeFile(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFlagBeatsEnvironmentBeatsFileBeatsDefault(t *testing.T) {
	text := "port 1001\nmaxclients 11\ntimeout 21\n"
	env := []string{"LOCKSTEP_PORT=1002", "LOCKSTEP_MAXCLIENTS=12", "HOME=/"}
	s := mustLoad(t, text, env, "--port", "1003")
	got := fmt.Sprint(s.Port, s.MaxClients, s.TimeoutSeconds, s.TCPKeepaliveSeconds)
	if got != "1003 12 21 300" {
		t.Errorf("port, maxclients, timeout, tcp-keepalive = %s", got)
	}
	for name, want := range map[string]string{
		"port": "--port", "maxclients": "LOCKSTEP_MAXCLIENTS", "timeout": "stdin:3", "tcp-keepalive": "default",
	} {
		if _, origin := s.Value(byName[name]); origin.String() != want {
			t.Errorf("%s comes from %v, want %s", name, origin, want)
		}
	}
}

func TestCommandLineContract(t *testing.T) {
	file := writeFile(t, filepath.Join(t.TempDir(), "lockstep.conf"), "loglevel debug\n")
	dir := t.TempDir()
	s := mustLoad(t, "", nil, file, "--port", "7000", "--bind", "127.0.0.1", "::1", "--dir", dir,
		"--peer-port", "7100", "--admin-port", "7200", "--node-name", "n1", "--shards", "4",
		"--raft-log-store", "wal", "--join", "10.0.0.1:7100,db-2.example:7100", "--proto-max-bulk-len=1mb")
	if s.Port != 7000 || s.PeerPort != 7100 || s.AdminPort != 7200 || s.NodeName != "n1" || s.Shards != 4 ||
		s.LogStore != LogStoreWAL || s.Dir != dir || s.ProtoMaxBulkLen != 1<<20 || s.LogLevel != LogDebug {
		t.Errorf("%+v", *s)
	}
	if !slices.Equal(s.Bind, []string{"127.0.0.1", "::1"}) || !slices.Equal(s.Join, []string{"10.0.0.1:7100", "db-2.example:7100"}) {
		t.Errorf("bind %q join %q", s.Bind, s.Join)
	}
	if s := mustLoad(t, "", nil, "--bootstrap", "--port", "7001"); !s.Bootstrap || s.Port != 7001 {
		t.Error("a bare --bootstrap is not yes")
	}
	if s := mustLoad(t, "", nil, "--slowlog-log-slower-than", "-1", "--save", ""); s.SlowlogLogSlowerThan != -1 {
		t.Error("a negative number is taken for a flag")
	}
	for arg, want := range map[string]error{"--help": ErrHelp, "-h": ErrHelp, "--version": ErrVersion, "-v": ErrVersion} {
		if _, _, err := Load([]string{arg, "--port", "1"}, nil, nil); !errors.Is(err, want) {
			t.Errorf("%s: %v", arg, err)
		}
	}
	if c, _, err := load(t, "", nil, "--port", "1", "--check-config"); err != nil || !c.CheckOnly {
		t.Errorf("--check-config: %v", err)
	}
}

func TestDefaultsFollowFromOtherSettings(t *testing.T) {
	host := hostname()
	here, err := os.Getwd()
	if s := mustLoad(t, "", nil); err != nil || s.Port != 6379 || s.PeerPort != 16379 || s.Dir != filepath.Join(here, "lockstep-data") || s.Shards != 1 {
		t.Errorf("told nothing it has %+v, %v", *s, err)
	}
	for _, c := range []struct {
		text           string
		name, peerAddr string
	}{
		{"port 6379", host + "-6379", "127.0.0.1:16379"},
		{"port 7000\nbind * -::*", host + "-7000", host + ":17000"},
		{"bind 10.1.2.3", host + "-6379", "10.1.2.3:16379"},
		{"bind 0.0.0.0\ncluster-announce-ip 10.9.9.9", host + "-6379", "10.9.9.9:16379"},
		{"cluster-announce-hostname db-0.db\ncluster-announce-bus-port 99\nnode-name db-0", "db-0", "db-0.db:99"},
		{"bind -::1", host + "-6379", "[::1]:16379"},
		{"cluster-port 444", host + "-6379", "127.0.0.1:444"},
	} {
		s := mustLoad(t, c.text, nil)
		if s.NodeName != c.name || s.PeerAddress != c.peerAddr {
			t.Errorf("%q: %s at %s, want %s at %s", c.text, s.NodeName, s.PeerAddress, c.name, c.peerAddr)
		}
	}
	_, _, err = load(t, "port 60000", nil)
	wantError(t, err, "peer-port (port + 10000) would be 70000", "set it")
	if s := mustLoad(t, "port 60000\npeer-port 60001", nil); s.PeerPort != 60001 {
		t.Error("peer-port cannot be set where its default does not fit")
	}
}

func TestMistakesAreSaidInWordsWithTheirPlace(t *testing.T) {
	_, _, err := load(t, "# fine\nprot 1\nmaxclients many\nrequirepass \"x\nhz\ninclude /no/such/file\n", nil,
		"--maxmemry", "1gb", "--databases", "32")
	wantError(t, err, `--maxmemry: unknown directive "maxmemry"; did you mean "maxmemory"?`)
	_, _, err = load(t, "# fine\nprot 1\nmaxclients many\nrequirepass \"x\nhz\ninclude /no/such/file\n", nil, "--databases", "32")
	wantError(t, err,
		`stdin:2: unknown directive "prot"; did you mean "port"?`,
		`stdin:3: maxclients: argument couldn't be parsed into an integer`,
		`stdin:4: unbalanced quotes in requirepass (hidden)`,
		`stdin:5: hz: wrong number of arguments`,
		`stdin:6: cannot open the configuration file`,
		`--databases: databases: argument must be between 1 and 16 inclusive`)
	_, _, err = load(t, strings.Repeat("nosuch 1\n", 100), nil)
	wantError(t, err, "and 80 more")
	_, _, err = load(t, "", nil, "a.conf", "b.conf")
	wantError(t, err, `unexpected "b.conf"`)
	_, _, err = load(t, "bootstrap yes\njoin a:1", nil)
	wantError(t, err, "give one of them")
	_, _, err = load(t, "port 7000\npeer-port 7000", nil)
	wantError(t, err, "port and peer-port are both 7000")
}

func TestMisspeltVariableWarnsAndServiceLinksDoNot(t *testing.T) {
	env := []string{
		"LOCKSTEP_MAX_CLIENTS=5",
		"LOCKSTEP_PORT=tcp://10.0.0.1:6379", "LOCKSTEP_SERVICE_HOST=10.0.0.1", "LOCKSTEP_SERVICE_PORT_REDIS=6379",
		"LOCKSTEP_PORT_6379_TCP_ADDR=10.0.0.1", "LOCKSTEP_PEER_PORT_16379_TCP=tcp://10.0.0.1:16379",
		"LOCKSTEP_JOIN=a:1 b:2", "LOCKSTEP_PASSWORD=the tool's",
	}
	c, warnings, err := load(t, "", env)
	if err != nil {
		t.Fatal(err)
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0].String(), "LOCKSTEP_MAX_CLIENTS: no directive has this variable; did you mean LOCKSTEP_MAXCLIENTS?") {
		t.Errorf("warnings %q", warnings)
	}
	if s := c.Current(); s.Port != 6379 || !slices.Equal(s.Join, []string{"a:1", "b:2"}) {
		t.Errorf("port %d join %q", s.Port, s.Join)
	}
}

func TestIncludesAreReadInPlaceAndTheirDepthIsBounded(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "a.inc"), "maxclients 7\n")
	writeFile(t, filepath.Join(dir, "b.inc"), "timeout 8\nport 1\n")
	main := writeFile(t, filepath.Join(dir, "main.conf"), fmt.Sprintf("include %s/*.inc\nport 2\ninclude %s/*.none\n", dir, dir))
	if s := mustLoad(t, "", nil, main); s.MaxClients != 7 || s.TimeoutSeconds != 8 || s.Port != 2 {
		t.Errorf("maxclients %d timeout %d port %d", s.MaxClients, s.TimeoutSeconds, s.Port)
	}
	loop := filepath.Join(dir, "loop.conf")
	writeFile(t, loop, "include "+loop+"\n")
	_, _, err := load(t, "", nil, loop)
	wantError(t, err, "nested deeper than 16 files; does a file include itself?")
	wide := writeFile(t, filepath.Join(dir, "wide.conf"), strings.Repeat("include "+dir+"/a.inc\n", includesMax+1))
	_, _, err = load(t, "", nil, wide)
	wantError(t, err, "more than 1000 files")
}

func TestRepeatedLinesAddUpWhereRedisLetsThem(t *testing.T) {
	s := mustLoad(t, "save 900 1\nsave 300 10\nbind 127.0.0.1\nbind ::1\n"+
		"client-output-buffer-limit normal 1kb 2k 3\nclient-output-buffer-limit pubsub 4 5 6\n", nil)
	if text, _ := s.Value(byName["save"]); text != "900 1 300 10" {
		t.Errorf("save %q", text)
	}
	if !slices.Equal(s.Bind, []string{"::1"}) {
		t.Errorf("bind %q", s.Bind)
	}
	l := s.ClientOutputBufferLimits
	if l[NormalClient] != (OutputLimit{1024, 2000, 3}) || l[PubSubClient] != (OutputLimit{4, 5, 6}) || l[ReplicaClient].HardBytes != 256<<20 {
		t.Errorf("limits %v", l)
	}
	if text, _ := mustLoad(t, "save 900 1\nsave \"\"\n", nil).Value(byName["save"]); text != "" {
		t.Errorf("save %q after it was emptied", text)
	}
}

func TestEachPolicyAnswersAPastedFileInItsWay(t *testing.T) {
	pasted := "appendonly no\nappendfsync everysec\ndatabases 16\nhz 10\nhz 50\ndaemonize yes\nrdbcompression yes\n"
	c, warnings, err := load(t, pasted, nil)
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, w := range warnings {
		said = append(said, w.String())
	}
	all := strings.Join(said, "\n")
	for _, want := range []string{
		"stdin:1: appendonly no has no effect, it stays yes", "stdin:2: appendfsync everysec has no effect, it stays always",
		"stdin:5: hz is ignored", "stdin:6: daemonize yes has no effect",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("no warning %q in\n%s", want, all)
		}
	}
	if len(warnings) != 4 {
		t.Errorf("%d warnings; what equals the default needs none:\n%s", len(warnings), all)
	}
	if got := c.Get("appendonly", "hz"); !slices.Equal(got, []Pair{{"appendonly", "yes"}, {"hz", "50"}}) {
		t.Errorf("CONFIG GET shows %v", got)
	}
	for _, line := range []string{
		"replicaof 10.0.0.1 6379", "slaveof a 1", "appendfsync no", "tls-key-file-pass x", "rename-command FLUSHALL \"\"",
		"unixsocket /tmp/s", "loadmodule x.so", "cluster-replica-no-failover yes",
	} {
		_, _, err := load(t, line, nil)
		wantError(t, err, "is refused: ")
	}
	if _, _, err := load(t, "replicaof \"\"\ntls-port 0\nunixsocket \"\"", nil); err != nil {
		t.Errorf("the default of a refused directive is refused: %v", err)
	}
}

// TestThePackagedRedisConfStartsANode reads the redis.conf of the machine's redis package.
func TestThePackagedRedisConfStartsANode(t *testing.T) {
	const path = "/etc/redis/redis.conf"
	if _, err := os.ReadFile(path); err != nil {
		t.Skipf("SKIPPED: %v", err)
	}
	if _, warnings, err := Load([]string{path}, nil, nil); err != nil || len(warnings) == 0 {
		t.Errorf("%v, warnings %v", err, warnings)
	}
}

func TestSecretsAreMaskedExceptInConfigGet(t *testing.T) {
	c, warnings, err := load(t, "requirepass hunter2\nmasterauth hunter3\n", nil)
	if err != nil {
		t.Fatal(err)
	}
	if text := fmt.Sprint(c.Effective(), warnings); strings.Contains(text, "hunter") {
		t.Errorf("a password is shown: %s", text)
	}
	if got := c.Get("requirepass"); got[0].Value != "hunter2" {
		t.Errorf("CONFIG GET requirepass: %v", got)
	}
	_, _, err = load(t, "user alice on >hunter4 nosuch", nil)
	if err == nil || strings.Contains(err.Error(), "hunter") {
		t.Errorf("a password is shown: %v", err)
	}
	c, warnings, err = load(t, "user alice on >hunter5 (+get ~a*)\nuser user off\n", nil)
	if err != nil || !slices.Equal(c.Current().Users, []string{"user alice on >hunter5 (+get ~a*)", "user user off"}) {
		t.Errorf("users: %q, %v", c.Current().Users, err)
	}
	if text := fmt.Sprint(c.Effective(), warnings); strings.Contains(text, "hunter") {
		t.Errorf("a password is shown: %s", text)
	}
}

// Directives of old files that Redis accepts without any effect do not stop the start. CONFIG GET
// and CONFIG SET do not know them.
func TestDirectivesOfOldFilesAreTaken(t *testing.T) {
	c, warnings, err := load(t, "list-max-ziplist-entries 256\nlist-max-ziplist-value 64\nlua-replicate-commands no\n", nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(warnings) != 2 || !strings.Contains(warnings[0].Text+warnings[1].Text, "ignored") {
		t.Errorf("%v", warnings)
	}
	if got := c.Get("list-max-ziplist-entries", "lua*"); len(got) != 1 || got[0].Name != "lua-time-limit" {
		t.Errorf("%v", got)
	}
	if err := c.Set([]Pair{{"lua-replicate-commands", "yes"}}); err == nil {
		t.Error("CONFIG SET takes it")
	}
}
