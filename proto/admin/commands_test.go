package admin_test

import (
	"testing"

	"lockstep/proto/client"
	"lockstep/tests/kit/prototest"
)

// scripts are conversations on one connection each, a command a line.
var scripts = map[string]string{
	"ping": `
		PING
		PING hello
		PING a b
		ping ""
		ECHO hello
		ECHO
		ECHO a b`,
	"select": `
		SELECT 0
		SELECT 15
		SET a b
		SELECT 16
		SELECT -1
		SELECT x
		SELECT 99999999999999999999
		SELECT
		GET a
		SELECT 0
		GET a
		SELECT +1
		SELECT 01`,
	"multi": `
		MULTI
		SET a 1
		GET a
		PING
		SELECT 3
		SET a 2
		GET a
		SELECT 0
		ECHO hello
		GET a
		EXEC
		GET a
		SELECT 3
		GET a`,
	"multi, empty": `
		MULTI
		EXEC
		EXEC
		DISCARD
		MULTI
		DISCARD
		DISCARD`,
	"multi, nothing but the node": `
		MULTI
		PING
		PING x
		SELECT 17
		ECHO
		EXEC
		MULTI
		PING
		SELECT 17
		TIME x
		EXEC
		MULTI
		PING a b
		SELECT 17
		SELECT x
		EXEC`,
	"multi, nested": `
		MULTI
		MULTI
		SET a 1
		EXEC`,
	"multi, unknown": `
		MULTI
		NOTHING a b
		SET a 1
		EXEC
		EXEC`,
	"multi, arity": `
		MULTI
		GET
		EXEC
		MULTI
		EXEC now
		EXEC`,
	"multi, unknown subcommand": `
		MULTI
		CONFIG NOTHING
		EXEC`,
	"multi, wrong type": `
		SET a word
		MULTI
		INCR a
		SET a 1
		INCR a
		EXEC`,
	"multi, watch within": `
		MULTI
		WATCH a
		SET a 1
		EXEC`,
	"multi, unwatch within": `
		MULTI
		UNWATCH
		SET a 1
		EXEC`,
	"multi, shutdown": `
		MULTI
		SHUTDOWN NOSAVE
		EXEC`,
	"multi, discard": `
		SET a 1
		MULTI
		SET a 2
		DISCARD
		GET a
		DISCARD now
		MULTI
		DISCARD now
		EXEC`,
	"multi, reset": `
		MULTI
		SET a 5
		RESET
		GET a
		EXEC`,
	"multi, quit": `
		MULTI
		SET a 1
		QUIT
		GET a`,
	"multi, hello": `
		MULTI
		HELLO 3
		ECHO x
		EXEC
		GET nothing`,
	"multi, scans": `
		MULTI
		DBSIZE
		SET a 1
		DBSIZE
		KEYS *
		FLUSHALL
		DBSIZE
		EXEC`,
	"watch": `
		SET a 1
		WATCH a
		MULTI
		SET a 2
		EXEC
		WATCH a
		SET a 3
		MULTI
		SET a 4
		EXEC
		GET a
		MULTI
		SET a 4
		EXEC
		WATCH
		WATCH a b c a
		UNWATCH
		SET a 5
		MULTI
		EXEC
		WATCH a
		DISCARD
		UNWATCH now`,
	"watch, empty multi": `
		WATCH a
		SET a 1
		MULTI
		EXEC
		WATCH a
		MULTI
		PING
		EXEC`,
	"watch, discard forgets": `
		WATCH a
		SET a 1
		MULTI
		DISCARD
		MULTI
		GET a
		EXEC`,
	"watch, error before": `
		WATCH a
		SET a 1
		MULTI
		NOTHING
		EXEC
		MULTI
		GET a
		EXEC`,
	"watch, other database": `
		SELECT 1
		WATCH a
		SELECT 0
		SET a 1
		MULTI
		GET a
		EXEC
		SELECT 1
		WATCH a
		SET a 2
		SELECT 0
		MULTI
		GET a
		EXEC`,
	"watch, key that comes and goes": `
		WATCH n
		SET n 1
		DEL n
		MULTI
		PING
		EXEC
		DEL n
		WATCH n
		DEL n
		MULTI
		PING
		EXEC`,
	"watch, resp3": `
		HELLO 3
		WATCH a
		SET a 1
		MULTI
		GET a
		EXEC`,
	"hello": `
		HELLO
		HELLO 2
		HELLO 3
		HELLO
		GET nothing
		HELLO 4
		HELLO 1
		HELLO x
		HELLO 3 SETNAME me
		CLIENT GETNAME
		HELLO 3 SETNAME "a b"
		HELLO 3 NOTHING
		HELLO 3 SETNAME
		HELLO 3 AUTH default
		HELLO 3 AUTH default any
		HELLO 2 AUTH nobody any SETNAME x
		CLIENT GETNAME
		HELLO 2 AUTH default x SETNAME x
		CLIENT GETNAME`,
	"auth": `
		AUTH x
		AUTH default x
		AUTH nobody x
		AUTH a b c
		AUTH`,
	"reset": `
		SET a 1
		SELECT 2
		CLIENT SETNAME x
		HELLO 3
		RESET
		GET nothing
		GET a
		CLIENT GETNAME
		RESET now
		MULTI
		RESET
		EXEC`,
	"client": `
		CLIENT
		CLIENT NOTHING
		CLIENT GETNAME
		CLIENT SETNAME me
		CLIENT GETNAME
		CLIENT GETNAME x
		CLIENT SETNAME "a b"
		CLIENT SETNAME "a\nb"
		CLIENT SETNAME ""
		CLIENT GETNAME
		CLIENT SETNAME
		CLIENT ID now
		CLIENT INFO now
		CLIENT NO-EVICT on
		CLIENT NO-EVICT maybe
		CLIENT NO-EVICT off
		CLIENT NO-EVICT
		CLIENT HELP me`,
	"client list": `
		CLIENT LIST TYPE
		CLIENT LIST TYPE nothing
		CLIENT LIST TYPE master
		CLIENT LIST TYPE replica
		CLIENT LIST TYPE pubsub
		CLIENT LIST ID
		CLIENT LIST ID x
		CLIENT LIST ID 0
		CLIENT LIST ID -1
		CLIENT LIST ID 1000000
		CLIENT LIST ID 1000000 x
		CLIENT LIST NOTHING`,
	"client kill": `
		CLIENT KILL
		CLIENT KILL 1.2.3.4:5
		CLIENT KILL ID
		CLIENT KILL ID x
		CLIENT KILL ID 0
		CLIENT KILL ID -1
		CLIENT KILL ID 1000000
		CLIENT KILL ADDR 1.2.3.4:5
		CLIENT KILL LADDR 1.2.3.4:5
		CLIENT KILL TYPE nothing
		CLIENT KILL TYPE master
		CLIENT KILL TYPE pubsub
		CLIENT KILL USER nobody
		CLIENT KILL SKIPME maybe ID 1000000
		CLIENT KILL SKIPME yes
		CLIENT KILL NOTHING x
		CLIENT KILL ID 1000000 TYPE
		CLIENT KILL USER default SKIPME yes`,
	"client reply": `
		CLIENT REPLY
		CLIENT REPLY maybe
		CLIENT REPLY ON
		CLIENT REPLY SKIP
		PING 1
		PING 2
		CLIENT REPLY SKIP
		NOTHING
		PING 3
		CLIENT REPLY SKIP
		GET nothing
		PING 4
		CLIENT REPLY OFF
		PING 5
		SET a 1
		GET a
		NOTHING
		CLIENT REPLY SKIP
		PING 6
		CLIENT REPLY ON
		GET a`,
	"client reply, skipped twice": `
		CLIENT REPLY SKIP
		CLIENT REPLY SKIP
		PING 1
		PING 2`,
	"client reply in multi": `
		MULTI
		CLIENT REPLY SKIP
		PING
		EXEC
		PING`,
	"client reply, skipped multi": `
		CLIENT REPLY SKIP
		MULTI
		SET a 1
		CLIENT REPLY SKIP
		SET a 2
		EXEC`,
	"time": `
		TIME x`,
	"role": `
		ROLE
		ROLE x`,
	"wait": `
		WAIT 0 0
		WAIT 0 100
		WAIT -1 0
		WAIT x 0
		WAIT 0 x
		WAIT 0 -1
		WAIT 0
		MULTI
		WAIT 0 0
		EXEC`,
	"command": `
		COMMAND NOTHING
		COMMAND COUNT x
		COMMAND INFO nothing
		COMMAND INFO get nothing mget
		COMMAND INFO config|get config|nothing config|get|x
		COMMAND DOCS nothing
		COMMAND LIST FILTERBY
		COMMAND LIST FILTERBY NOTHING x
		COMMAND LIST FILTERBY MODULE x
		COMMAND LIST FILTERBY ACLCAT nothing
		COMMAND LIST FILTERBY PATTERN getr*
		COMMAND LIST NOTHING x y
		COMMAND GETKEYS
		COMMAND GETKEYS GET
		COMMAND GETKEYS NOTHING a
		COMMAND GETKEYS PING
		COMMAND GETKEYS PING x
		COMMAND GETKEYS GET a
		COMMAND GETKEYS GET a b
		COMMAND GETKEYS SET a b
		COMMAND GETKEYS MSET a b c d e f
		COMMAND GETKEYS MSET a b c
		COMMAND GETKEYSANDFLAGS SET a b
		COMMAND GETKEYSANDFLAGS SET a b GET
		COMMAND GETKEYSANDFLAGS GET a
		COMMAND GETKEYSANDFLAGS COPY a b
		COMMAND GETKEYSANDFLAGS DEL a b c
		COMMAND GETKEYS CONFIG GET x
		COMMAND GETKEYS OBJECT ENCODING x
		COMMAND GETKEYS WATCH a b`,
	"command, resp3": `
		HELLO 3
		COMMAND INFO get mset object|encoding select
		COMMAND LIST FILTERBY PATTERN getr*
		COMMAND GETKEYSANDFLAGS SET a b`,
	"config": `
		CONFIG
		CONFIG NOTHING
		CONFIG GET
		CONFIG SET a
		CONFIG SET a b c
		CONFIG RESETSTAT
		CONFIG RESETSTAT now
		CONFIG GET nothing`,
	"config, resp3": `
		HELLO 3
		CONFIG GET nothing`,
	"slowlog": `
		SLOWLOG
		SLOWLOG NOTHING
		SLOWLOG GET
		SLOWLOG GET x
		SLOWLOG GET -2
		SLOWLOG GET -1
		SLOWLOG GET 1 2
		SLOWLOG LEN
		SLOWLOG LEN x
		SLOWLOG RESET
		SLOWLOG HELP`,
	"debug": `
		DEBUG SLEEP 0
		DEBUG NOTHING
		DEBUG`,
	"save": `
		SAVE x
		BGSAVE NOTHING
		LASTSAVE x
		MULTI
		SAVE
		EXEC`,
	"shutdown": `
		SHUTDOWN NOTHING
		SHUTDOWN ABORT
		SHUTDOWN SAVE NOSAVE
		SHUTDOWN ABORT NOW`,
	"cluster off": `
		CLUSTER INFO
		CLUSTER NOTHING
		CLUSTER KEYSLOT a
		CLUSTER
		READONLY now
		ASKING now`,
	"sets and gets": `
		SET a 1
		PING
		INCR a
		NOTHING
		GET a
		ECHO x
		INCR a
		GET`,
	"unknown": `
		nothing
		NOTHING "a'b" 'c"d' ""
		"no\nthing" "a\nb"
		client|id
		config|get x
		lockstep.versions a
		"set "`,
}

func TestNodeCommandsAnswerAsRedisDoes(t *testing.T) {
	redis := prototest.StartRedis(t)
	n := prototest.StartNode(t, 1)
	for name, script := range scripts {
		for _, addr := range []string{redis, n.Addr} {
			c := prototest.Dial(t, addr)
			prototest.Do(t, c, "FLUSHALL")
			c.Close()
		}
		prototest.Until(t, "earlier connections are gone", func() bool { return n.Registry.Len() == 0 })
		prototest.Compare(t, n.Addr, redis, name, prototest.Commands(t, script))
	}
}

// clusterScripts are conversations for a redis-server in cluster mode.
var clusterScripts = map[string]string{
	"cluster": `
		CLUSTER
		CLUSTER NOTHING
		CLUSTER MYID x
		CLUSTER KEYSLOT
		CLUSTER KEYSLOT a
		CLUSTER KEYSLOT {a}b
		CLUSTER KEYSLOT ""
		CLUSTER KEYSLOT {}a
		CLUSTER KEYSLOT foo{{bar}}
		CLUSTER COUNTKEYSINSLOT
		CLUSTER COUNTKEYSINSLOT 0
		CLUSTER COUNTKEYSINSLOT 16384
		CLUSTER COUNTKEYSINSLOT -1
		CLUSTER COUNTKEYSINSLOT x
		CLUSTER GETKEYSINSLOT 0
		CLUSTER GETKEYSINSLOT 0 10
		CLUSTER GETKEYSINSLOT 0 0
		CLUSTER GETKEYSINSLOT 0 -1
		CLUSTER GETKEYSINSLOT 0 x
		CLUSTER GETKEYSINSLOT 16384 10
		CLUSTER GETKEYSINSLOT x 10
		CLUSTER SLOTS x
		CLUSTER INFO x
		CLUSTER LINKS
		CLUSTER LINKS x
		CLUSTER REPLICAS
		CLUSTER REPLICAS x
		CLUSTER REPLICAS 0000000000000000000000000000000000000009
		CLUSTER SLAVES x
		CLUSTER SLAVES x y
		CLUSTER COUNT-FAILURE-REPORTS
		CLUSTER COUNT-FAILURE-REPORTS x
		CLUSTER SAVECONFIG
		CLUSTER SAVECONFIG x
		CLUSTER ADDSLOTS
		CLUSTER ADDSLOTSRANGE 1
		CLUSTER SETSLOT 1
		CLUSTER FORGET
		CLUSTER MEET a
		CLUSTER FLUSHSLOTS x`,
	"readonly": `
		READONLY
		READWRITE
		ASKING
		READONLY now`,
}

func TestClusterCommandsAnswerAsRedisDoes(t *testing.T) {
	redis := prototest.StartRedis(t, "--cluster-enabled", "yes")
	n := prototest.StartNode(t, 1)
	n.ShownMode.Store("cluster")
	for name, script := range clusterScripts {
		prototest.Compare(t, n.Addr, redis, name, prototest.Commands(t, script))
	}
}

// debugScripts are conversations with a server that allows DEBUG.
var debugScripts = map[string]string{
	"debug": `
		DEBUG
		DEBUG NOTHING
		DEBUG SLEEP
		DEBUG SLEEP 0
		DEBUG SLEEP x
		DEBUG SLEEP 0 0
		DEBUG SET-ACTIVE-EXPIRE
		DEBUG SET-ACTIVE-EXPIRE 0
		DEBUG SET-ACTIVE-EXPIRE 1
		DEBUG DIGEST
		DEBUG DIGEST-VALUE
		MULTI
		DEBUG SLEEP 0
		EXEC`,
}

func TestDebugAnswersAsRedisDoes(t *testing.T) {
	redis := prototest.StartRedis(t, "--enable-debug-command", "yes")
	n := prototest.StartNode(t, 1)
	n.Set(func(s *client.Settings) { s.DebugFor = "yes" })
	for name, script := range debugScripts {
		prototest.Compare(t, n.Addr, redis, name, prototest.Commands(t, script))
	}
}
