// Package corpus runs scripted tests: commands, followed by the exact replies. testdata has one
// script per family of commands. Each script runs against redis-server, the engine alone (package
// alone, in this process), one lockstepd, and a cluster through a follower. All must give the same
// bytes. If the engine alone passes and the others fail, the error is outside the engine.
//
// The expected replies are those of redis-server 7.0, and not what an author believed them to be:
//
//	go test ./tests/corpus -run TestRedisServer -rewrite
//
// writes the answers of a real redis-server into the scripts.
//
// # The form of a script
//
//	== a counter starts from zero        a case: empty databases, new connections
//	INCR n                               commands, one per line, quoted as for redis-cli;
//	c2> @3 GET n                         on connection c2, speaking RESP3
//	----                                 then what is answered, one reply after another
//	:1                                   in the notation of respconn.Value.String
//	"1"
//
// A blank line ends a block. `#` begins a comment line, `%` a directive for the
// block that follows:
//
//	% pipeline         send all commands of the block in one write
//	% raw              lines are quoted bytes, sent as they are; no reply is read...
//	% replies N        ...but N after the last line,
//	% closes           ...or all until the server closes the connection
//	% sends            send the commands of the block and read no reply;
//	% sends N          as each is sent, wait until one client more is blocked, N in the end
//	% holds N          the same of commands that CLIENT PAUSE holds
//	% reads            read what comes: the lines name connections, as "c2>" or "c2> @3"
//	% until            ask again until the reply is the expected one (it is not rewritten)
//	% scan             repeat a SCAN from cursor 0 to the end; the reply is all elements, sorted
//	% sort             sort the elements of the reply
//	% mask RE TEXT     replace what the expression matches in the replies (RE has no blanks)
//	% save NAME        keep the reply's text; ${NAME} stands for it, quoted, in later commands
//
// Where Lockstep differs on purpose, a second expectation with the reason follows:
//
//	---- lockstep: why it differs
//
// A connection c2 and the same name with @3 are two connections.
package corpus
