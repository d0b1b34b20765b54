package command

// flagNames are the names of flags in the order of COMMAND INFO. Lockstep's own flags have none.
var flagNames = []struct {
	flag Flag
	name string
}{
	{Write, "write"},
	{ReadOnly, "readonly"},
	{DenyOOM, "denyoom"},
	{Admin, "admin"},
	{PubSub, "pubsub"},
	{NoScript, "noscript"},
	{Blocking, "blocking"},
	{Loading, "loading"},
	{Stale, "stale"},
	{SkipMonitor, "skip_monitor"},
	{SkipSlowlog, "skip_slowlog"},
	{Asking, "asking"},
	{Fast, "fast"},
	{NoAuth, "no_auth"},
	{NoMandatoryKeys, "no_mandatory_keys"},
	{NoAsyncLoading, "no_async_loading"},
	{NoMulti, "no_multi"},
	{MovableKeys, "movablekeys"},
	{AllowBusy, "allow_busy"},
}

// FlagNames returns the names of the command's flags in the order of COMMAND
// INFO.
func (s *Spec) FlagNames() []string {
	names := []string{}
	for _, f := range flagNames {
		if s.Flags&f.flag != 0 {
			names = append(names, f.name)
		}
	}
	return names
}

// categoryRow selects the commands of an ACL category: those whose row has the category, and those
// with a flag that implies it.
type categoryRow struct {
	name string
	cat  Category
	flag Flag
}

// categoryRows are the ACL categories in the order of ACL CAT. A command that
// is not in fast is in slow.
var categoryRows = []categoryRow{
	{name: "keyspace", cat: CatKeyspace},
	{name: "read", flag: ReadOnly},
	{name: "write", flag: Write},
	{name: "set", cat: CatSet},
	{name: "sortedset", cat: CatSortedSet},
	{name: "list", cat: CatList},
	{name: "hash", cat: CatHash},
	{name: "string", cat: CatString},
	{name: "bitmap", cat: CatBitmap},
	{name: "hyperloglog", cat: CatHyperLogLog},
	{name: "geo", cat: CatGeo},
	{name: "stream", cat: CatStream},
	{name: "pubsub", cat: CatPubSub, flag: PubSub},
	{name: "admin", cat: CatAdmin, flag: Admin},
	{name: "fast", flag: Fast},
	{name: "slow"},
	{name: "blocking", flag: Blocking},
	{name: "dangerous", cat: CatDangerous, flag: Admin},
	{name: "connection", cat: CatConnection},
	{name: "transaction", cat: CatTransaction},
	{name: "scripting", cat: CatScripting},
}

func (r *categoryRow) has(s *Spec) bool {
	switch r.name {
	case "slow":
		return s.Flags&Fast == 0
	case "read":
		// A script that only reads is still a script.
		return s.Flags&ReadOnly != 0 && s.Cats&CatScripting == 0
	}
	return s.Cats&r.cat != 0 || s.Flags&r.flag != 0
}

// Categories returns the command's ACL categories, without "@", in the order
// of ACL CAT.
func (s *Spec) Categories() []string {
	names := []string{}
	for i := range categoryRows {
		if categoryRows[i].has(s) {
			names = append(names, categoryRows[i].name)
		}
	}
	return names
}

// AllCategories returns the names of all ACL categories in the order of ACL
// CAT.
func AllCategories() []string {
	names := make([]string, len(categoryRows))
	for i := range categoryRows {
		names[i] = categoryRows[i].name
	}
	return names
}

// keyFlagNames are the names of key flags in the order of COMMAND INFO.
var keyFlagNames = []struct {
	flag KeyFlag
	name string
}{
	{KeyRO, "RO"},
	{KeyRW, "RW"},
	{KeyOW, "OW"},
	{KeyRM, "RM"},
	{KeyAccess, "access"},
	{KeyUpdate, "update"},
	{KeyInsert, "insert"},
	{KeyDelete, "delete"},
	{KeyNotKey, "not_key"},
	{KeyIncomplete, "incomplete"},
	{KeyVariableFlags, "variable_flags"},
}

// Names returns the names of the flags in the order of COMMAND INFO.
func (f KeyFlag) Names() []string {
	names := []string{}
	for _, n := range keyFlagNames {
		if f&n.flag != 0 {
			names = append(names, n.name)
		}
	}
	return names
}
