package command

import (
	"lockstep/engine/command/arg"
	"lockstep/engine/sched"
)

// Scope says what a command needs before it may run.
type Scope uint8

const (
	// ScopeKeys runs on the shard that owns its keys, under their lock slots.
	ScopeKeys Scope = iota
	// ScopeGlobal runs on a shard's whole keyspace, exclusively (FLUSHALL).
	ScopeGlobal
	// ScopeScan runs on a shard with only a permit, and takes short shared locks during its walk
	// (KEYS, SCAN, DBSIZE). It is for reads only.
	ScopeScan
	// ScopeNode runs on the gateway and needs no shard (PING, INFO, CONFIG).
	// Its handler is in proto/client or proto/admin; Spec.Run is nil.
	ScopeNode
)

// Flag is a set of a command's properties, with the names of COMMAND INFO.
type Flag uint32

const (
	Write Flag = 1 << iota
	ReadOnly
	DenyOOM
	Admin
	PubSub
	NoScript
	Blocking
	Loading
	Stale
	SkipMonitor
	SkipSlowlog
	Asking
	Fast
	NoAuth
	MayReplicate
	NoMulti
	MovableKeys
	AllowBusy
	NoMandatoryKeys
	NoAsyncLoading
	// Heavy is Lockstep's own: the command may take long, so it runs on a worker and not on the
	// applying goroutine.
	Heavy
	// Local is Lockstep's own: the reply about a key depends on this replica alone, so a script may
	// not see it.
	Local
	// ReachesMore is Lockstep's own: the command uses keys that no argument names (SORT's BY and
	// GET).
	ReachesMore
	// NotInScripts is Lockstep's own: scripts do not know the command.
	NotInScripts
)

// Category is a set of ACL categories beyond those that flags imply.
type Category uint32

const (
	CatKeyspace Category = 1 << iota
	CatString
	CatBitmap
	CatList
	CatHash
	CatSet
	CatSortedSet
	CatStream
	CatGeo
	CatHyperLogLog
	CatPubSub
	CatConnection
	CatTransaction
	CatScripting
	CatDangerous
	// CatAdmin is for commands of that category without the flag.
	CatAdmin
)

// KeyFlag says what a command does to the keys of one key spec, with the names of COMMAND INFO. RO
// keys are locked shared, all others exclusively.
type KeyFlag uint16

const (
	KeyRO KeyFlag = 1 << iota
	KeyRW
	KeyOW
	KeyRM
	KeyAccess
	KeyUpdate
	KeyInsert
	KeyDelete
	KeyNotKey
	KeyIncomplete
	KeyVariableFlags
)

// KeySpec finds keys in a command's arguments. If Find is nil, keys are at First, First+Step, ...
// up to Last. A negative Last counts from the end, -1 being the last argument. Otherwise Find
// returns their positions.
type KeySpec struct {
	Flags             KeyFlag
	First, Last, Step int
	// Find appends the positions of this spec's keys in args to dst. If it appends nothing the
	// arguments are malformed, which the handler will report. It must not keep args.
	Find func(dst []int, args [][]byte) []int
	// NumKeys is set if Find reads a key count. It holds what COMMAND INFO says: the index of the
	// count, the first key after it, and the step.
	NumKeys *[3]int
	// Keyword is set if Find looks for a word that keys follow (STREAMS). It holds what COMMAND
	// INFO says about the word.
	Keyword *Keyword
	// Absent, if set, reports whether these arguments do not contain these keys, because other
	// arguments stand in their place.
	Absent func(args [][]byte) bool
	// ModeOf, if set, decides the access to these keys by the arguments (GETEX without options only
	// reads). If it is nil the Flags decide.
	ModeOf func(args [][]byte) sched.Mode
}

// Keyword says where keys are that follow a word. The search for the word starts at argument From,
// and the keys are the first 1/Share of the arguments behind it.
type Keyword struct {
	Word        string
	From, Share int
}

// Spec is one row of the command table: everything that the server knows about a command. Dispatch,
// routing, locking, script rules, ACL, COMMAND and docs/commands.md read it. Nothing else lists
// commands.
type Spec struct {
	// Name is in lower case. The name of a subcommand is "parent|sub".
	Name string
	// Arity counts the command's name; -n means at least n.
	Arity int
	Flags Flag
	Cats  Category
	Keys  []KeySpec
	Scope Scope
	// Gateway are properties that matter only at the gateway.
	Gateway Gateway
	// Secrets, if set, returns the places of the arguments that contain a password, in order.
	Secrets func(args [][]byte) []int
	// Plan, if set, plans what depends on the shard's programs, for instance scripts: the locks of
	// a call, and what it runs. The goroutine that applies the log calls it in the order of the
	// log, so it must be quick.
	Plan func(p *Planning, args [][]byte) Plan
	// Logged, if set, reports in place of Writes whether a call must enter the log. known is false
	// if the given programs do not tell that.
	Logged func(p *Programs, args [][]byte) (logged, known bool)
	// Check, if set, returns why a call would change nothing and fail, by its arguments alone, so
	// that it need not enter the log. It returns "" if that cannot be known.
	Check func(args [][]byte) string
	// Evaluates is set if the second argument is the text of a script. In the log its SHA1 may
	// stand in its place (Planning.Script).
	Evaluates bool
	// Merge is set for a command that runs on every shard; see there.
	Merge Merge
	// Waits is set for a command that may wait for keys to be filled (BLPOP).
	Waits *Waiting
	// Run is the handler of a command that runs in the engine, nil for
	// ScopeNode and for containers.
	Run func(*Ctx, [][]byte)
	// SentAs, if set, is the name of another command, which a gateway sends to the shard in place
	// of this one. It takes the same arguments.
	SentAs string
	// HeavyIf, if set, reports whether the arguments make the command Heavy (SPOP with a count).
	HeavyIf func(args [][]byte) bool
	// BriefIf, if set, reports whether the arguments make a command that only reads, and is not
	// Fast, as quick as a Fast one (LRANGE of a few elements); see Brief.
	BriefIf func(args [][]byte) bool
	// Wanders, if set, reports whether the command, with these arguments, uses keys that its row
	// cannot find (SORT BY a pattern). It then locks the whole shard, and needs a shard that has
	// all hash slots.
	Wanders func(args [][]byte) bool
	// Brings, if set, returns the most elements that a call adds to a key; see AppendFills.
	Brings func(args [][]byte) int
	// Grows, if set, returns the result of GrowthBytes. If it is nil the keys decide.
	Grows func(args [][]byte, sizes *Sizes) int64
	// KeyFlagsOf, if set, returns what the command does to its keys of KeyVariableFlags.
	KeyFlagsOf func(args [][]byte) KeyFlag
	// Sub lists the subcommands of a container (CLIENT, CONFIG).
	Sub []*Spec

	// Documentation for COMMAND DOCS and docs/commands.md, in our own words.
	Group, Summary, Since, Complexity string
	// Origin is the product that has the command, and whose version Since names, if that is not
	// Redis: "Valkey", "Lockstep". Tests expect no such command in redis-server.
	Origin string
	// DeprecatedSince and ReplacedBy are set for commands that are deprecated in Redis.
	DeprecatedSince, ReplacedBy string
	// Looks is set for a command of operators that changes nothing and shows no data of users.
	Looks bool
	// System is set for commands for Redis's own developers (COMMAND DOCS: syscmd).
	System bool
	// Args documents the arguments for COMMAND DOCS. It may be nil.
	Args []arg.Arg
	// Tips are the command tips of COMMAND INFO.
	Tips []string

	parent *Spec
	number int
}
