package hashcmd

import (
	"lockstep/engine/command"
	"lockstep/engine/command/arg"
)

// FieldExpiryRows are the commands of Redis 7.4 and 8 on the expiry of a hash's fields. Their
// handlers are in expire.go and ex.go.
var FieldExpiryRows = []*command.Spec{
	expireFieldsRow("hexpire", "seconds", "integer", runHExpire, "Lets fields of a hash expire after a number of seconds."),
	expireFieldsRow("hpexpire", "milliseconds", "integer", runHPExpire, "Lets fields of a hash expire after a number of milliseconds."),
	expireFieldsRow("hexpireat", "unix-time-seconds", "unix-time", runHExpireAt, "Lets fields of a hash expire at a time given in seconds."),
	expireFieldsRow("hpexpireat", "unix-time-milliseconds", "unix-time", runHPExpireAt, "Lets fields of a hash expire at a time given in milliseconds."),
	{
		Name: "hpersist", Arity: -5, Flags: command.Write | command.Fast, Cats: command.CatHash,
		Keys: command.OneKey(command.KeyRW | command.KeyUpdate), Run: runHPersist,
		Group: "hash", Since: "7.4.0",
		Summary: "Takes the expiry off fields of a hash.", Complexity: "O(N) with N the number of fields",
		Args: []arg.Arg{arg.Key("key", 1), argFields()},
	},
	fieldLifetimeRow("httl", runHTTL, "Returns in how many seconds fields of a hash expire."),
	fieldLifetimeRow("hpttl", runHPTTL, "Returns in how many milliseconds fields of a hash expire."),
	fieldLifetimeRow("hexpiretime", runHExpireTime, "Returns when fields of a hash expire, in seconds."),
	fieldLifetimeRow("hpexpiretime", runHPExpireTime, "Returns when fields of a hash expire, in milliseconds."),
	{
		Name: "hgetdel", Arity: -5, Flags: command.Write | command.Fast, Cats: command.CatHash,
		Keys: command.OneKey(command.KeyRW | command.KeyAccess | command.KeyDelete), Run: runHGetDel,
		Group: "hash", Since: "8.0.0",
		Summary: "Returns the values of fields of a hash and deletes the fields.", Complexity: "O(N) with N the number of fields",
		Args: []arg.Arg{arg.Key("key", 1), argFields()},
	},
	{
		Name: "hgetex", Arity: -5, Flags: command.Write | command.Fast, Cats: command.CatHash,
		Keys:  []command.KeySpec{{Flags: command.KeyRW | command.KeyAccess | command.KeyUpdate, First: 1, Last: 1, Step: 1, ModeOf: hGetExMode}},
		Run:   runHGetEx,
		Group: "hash", Since: "8.0.0",
		Summary: "Returns the values of fields of a hash and may change when they expire.", Complexity: "O(N) with N the number of fields",
		Args: []arg.Arg{arg.Key("key", 1), argFieldExpiry(arg.Token("persist", "PERSIST")), argFields()},
	},
	{
		Name: "hsetex", Arity: -6, Flags: command.Write | command.DenyOOM | command.Fast, Cats: command.CatHash,
		Keys: command.OneKey(command.KeyRW | command.KeyUpdate), Run: runHSetEx,
		Group: "hash", Since: "8.0.0",
		Summary: "Sets fields of a hash and may set when they expire.", Complexity: "O(N) with N the number of fields",
		Args: []arg.Arg{
			arg.Key("key", 1),
			arg.OneOf("condition", arg.Token("fnx", "FNX"), arg.Token("fxx", "FXX")).Opt(),
			argFieldExpiry(arg.Token("keepttl", "KEEPTTL")),
			arg.Block("fields", arg.Of("numfields", "integer"), arg.Block("data", arg.Of("field", "string"), arg.Of("value", "string")).Many()).After("FIELDS"),
		},
	},
}

func expireFieldsRow(name, unit, unitType string, run func(*command.Ctx, [][]byte), summary string) *command.Spec {
	return &command.Spec{
		Name: name, Arity: -6, Flags: command.Write | command.DenyOOM | command.Fast, Cats: command.CatHash,
		Keys: command.OneKey(command.KeyRW | command.KeyUpdate), Run: run,
		Group: "hash", Since: "7.4.0",
		Summary: summary, Complexity: "O(N) with N the number of fields",
		Args: []arg.Arg{
			arg.Key("key", 1),
			arg.Of(unit, unitType),
			arg.OneOf("condition", arg.Token("nx", "NX"), arg.Token("xx", "XX"), arg.Token("gt", "GT"), arg.Token("lt", "LT")).Opt(),
			argFields(),
		},
	}
}

func fieldLifetimeRow(name string, run func(*command.Ctx, [][]byte), summary string) *command.Spec {
	return &command.Spec{
		Name: name, Arity: -5, Flags: command.ReadOnly | command.Fast, Cats: command.CatHash,
		Keys: command.OneKey(command.KeyRO | command.KeyAccess), Run: run,
		Group: "hash", Since: "7.4.0",
		Summary: summary, Complexity: "O(N) with N the number of fields",
		Args: []arg.Arg{arg.Key("key", 1), argFields()},
	}
}

// argFields is FIELDS, their number and the fields.
func argFields() arg.Arg {
	return arg.Block("fields", arg.Of("numfields", "integer"), arg.Of("field", "string").Many()).After("FIELDS")
}

// argFieldExpiry is an expiry in one of four forms, or the argument other.
func argFieldExpiry(other arg.Arg) arg.Arg {
	return arg.OneOf("expiration",
		arg.Of("seconds", "integer").After("EX"),
		arg.Of("milliseconds", "integer").After("PX"),
		arg.Of("unix-time-seconds", "unix-time").After("EXAT"),
		arg.Of("unix-time-milliseconds", "unix-time").After("PXAT"),
		other,
	).Opt()
}
