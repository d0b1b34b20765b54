package command

import "lockstep/engine/sched"

// Scope says what a command needs before it may run.
type Scope uint8

const (
	// ScopeKeys runs on the shard that owns its keys, under their lock slots.
	ScopeKeys Scope = iota
	// ScopeGlobal runs on a shard's whole keyspace, exclusively (FLUSHALL).
	ScopeGlobal
	// ScopeScan runs on a shard under a permit alone and takes short shared
	// locks as it walks (KEYS, SCAN, DBSIZE). Reads only.
	ScopeScan
	// ScopeNode runs on the gateway and needs no shard (PING, INFO, CONFIG).
	// Its handler is in proto/client or proto/admin; Spec.Run is nil.
	ScopeNode
)

// Flag is a set of a command's properties, named as COMMAND INFO names them.
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
	// Heavy is ours, not Redis's: the command may take long, so the applying
	// goroutine hands it to a worker instead of running it itself.
	Heavy
	// Local is ours: what the command answers of a key is this replica's own, so a
	// script may not see it.
	Local
	// ReachesMore is ours: the command reaches keys that stand in no argument
	// (SORT's BY and GET).
	ReachesMore
	// NotInScripts is ours: scripts do not know the command.
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

// KeyFlag says what a command does to the keys of one key spec, as COMMAND
// INFO names it. RO keys are locked shared, all others exclusively.
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

// KeySpec finds keys in a command's arguments. Either Find is nil and keys
// stand at First, First+Step, ... up to Last (negative: counted from the end,
// -1 being the last argument), or Find reports their positions.
type KeySpec struct {
	Flags             KeyFlag
	First, Last, Step int
	// Find appends the positions of this spec's keys in args to dst; nil args
	// positions mean malformed arguments, which the handler will report.
	// It must not keep args.
	Find func(dst []int, args [][]byte) []int
	// NumKeys, when Find reads a key count, is where COMMAND INFO says the
	// count stands: index of the count, first key after it, step.
	NumKeys *[3]int
	// Keyword, when Find looks for a word behind which keys stand (STREAMS), is
	// what COMMAND INFO says about it.
	Keyword *Keyword
	// Absent, when set, tells of arguments with which these keys are not there, for
	// others stand in their place.
	Absent func(args [][]byte) bool
	// ModeOf, when set, decides the access of these keys from the arguments
	// (GET without options of GETEX reads only); nil: by Flags.
	ModeOf func(args [][]byte) sched.Mode
}

// Keyword says where keys stand that follow a word: the word is looked for from
// an argument on, and the keys are the first 1/Share of what is behind it.
type Keyword struct {
	Word        string
	From, Share int
}

// Spec is one row of the command table: everything the server knows of a
// command. Dispatch, routing, locking, script rules, ACL, COMMAND and
// docs/commands.md read it; nothing else lists commands.
type Spec struct {
	// Name is lower case; a subcommand's is "parent|sub".
	Name string
	// Arity counts the command's name; -n means at least n.
	Arity int
	Flags Flag
	Cats  Category
	Keys  []KeySpec
	Scope Scope
	// Gateway are properties that matter only where clients are connected.
	Gateway Gateway
	// Secrets, when set, tells which arguments say a password, by their places, in order.
	Secrets func(args [][]byte) []int
	// Plan, when set, settles what depends on the shard's programs, scripts for
	// instance: the locks of a call, and what it runs. It is called in the order of
	// the log, by the goroutine that applies it, so it must be quick.
	Plan func(p *Planning, args [][]byte) Plan
	// Logged, when set, tells in place of Writes whether a call must enter the
	// log; known is false where that cannot be told from the programs given.
	Logged func(p *Programs, args [][]byte) (logged, known bool)
	// Check, when set, says from the arguments alone why a call would change
	// nothing and fail, so that it need not travel; "" if that cannot be told.
	Check func(args [][]byte) string
	// Evaluates: the second argument is the text of a script. In the log its SHA1
	// may stand in its place (Planning.Script).
	Evaluates bool
	// Merge is set for a command that runs on every shard; see there.
	Merge Merge
	// Waits is set for a command that may wait for keys to be filled (BLPOP).
	Waits *Waiting
	// Run is the handler of a command that runs in the engine, nil for
	// ScopeNode and for containers.
	Run func(*Ctx, [][]byte)
	// SentAs, when set, is the name of another command, which a gateway sends to the
	// shard in place of this one. It takes the same arguments.
	SentAs string
	// HeavyIf, when set, says which arguments make the command Heavy (SPOP with
	// a count).
	HeavyIf func(args [][]byte) bool
	// BriefIf, when set, says which arguments make a command that only reads, and is not
	// Fast, as quick as one that is (LRANGE of a few elements); see Brief.
	BriefIf func(args [][]byte) bool
	// Wanders, when set, tells whether the command, with these arguments, reaches keys that its row cannot find
	// (SORT BY a pattern). It then takes the whole shard, and needs a shard that has all hash slots.
	Wanders func(args [][]byte) bool
	// Brings, when set, is how many elements a call brings into a key at most; see
	// AppendFills.
	Brings func(args [][]byte) int
	// Grows, when set, is what GrowthBytes returns; nil: by the keys.
	Grows func(args [][]byte, sizes *Sizes) int64
	// KeyFlagsOf, when set, tells what the command does to its keys of
	// KeyVariableFlags.
	KeyFlagsOf func(args [][]byte) KeyFlag
	// Sub lists the subcommands of a container (CLIENT, CONFIG).
	Sub []*Spec

	// Documentation for COMMAND DOCS and docs/commands.md, in our own words.
	Group, Summary, Since, Complexity string
	// Origin is whose command it is, and whose version Since names, where that is not
	// Redis: "Valkey", "Lockstep". Tests expect no such command of redis-server.
	Origin string
	// DeprecatedSince and ReplacedBy are set for commands that Redis calls
	// deprecated.
	DeprecatedSince, ReplacedBy string
	// Looks: an operator's question, which changes nothing and shows no data of users.
	Looks bool
	// System marks what is for Redis's own developers (COMMAND DOCS: syscmd).
	System bool
	// Args documents the arguments for COMMAND DOCS; may be nil.
	Args []Arg
	// Tips are COMMAND INFO's command tips.
	Tips []string

	parent *Spec
	number int
}

// Arg documents one argument for COMMAND DOCS (redis.io, "Command arguments").
type Arg struct {
	Name, Type, Token, Since string
	// KeySpec is the index of the key spec this argument belongs to plus one;
	// 0: none.
	KeySpec                           int
	Optional, Multiple, MultipleToken bool
	Sub                               []Arg
}
