package config

// Source is a kind of place that values come from; a greater one wins.
type Source uint8

const (
	// FromDefault is the table, or what the table derives from other settings.
	FromDefault Source = iota
	// FromFile is the configuration file, its includes, or standard input.
	FromFile
	// FromEnv is a LOCKSTEP_... variable.
	FromEnv
	// FromFlag is the command line.
	FromFlag
	// FromCluster is the cluster's log.
	FromCluster
	// FromConfigSet is CONFIG SET on this node.
	FromConfigSet
)

// Origin is where a value came from.
type Origin struct {
	Source Source
	// Where is file:line, the variable or the flag.
	Where string
}

func (o Origin) String() string {
	switch {
	case o.Where != "":
		return o.Where
	case o.Source == FromCluster:
		return "the cluster"
	case o.Source == FromConfigSet:
		return "CONFIG SET"
	}
	return "default"
}

// Warning is something that the operator should know and that does not stop the node.
type Warning struct {
	Where string
	Text  string
}

func (w Warning) String() string {
	if w.Where == "" {
		return w.Text
	}
	return w.Where + ": " + w.Text
}

// assignment is a directive as one source gives it.
type assignment struct {
	directive *Directive
	args      []string
	origin    Origin
}
