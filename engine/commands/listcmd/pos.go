package listcmd

import (
	"lockstep/engine/command"
	"lockstep/engine/list"
)

// posOptions are the options of LPOS.
type posOptions struct {
	// rank is the number of the first match to answer. A negative rank counts from the end.
	rank int64
	// count is the number of matches to answer, 0 for all. If many is false the option is missing:
	// the reply is one match and not an array.
	count int64
	many  bool
	// most is the number of elements to look at, 0 for all.
	most int64
}

// parse reads the options. It answers the error itself.
func (o *posOptions) parse(c *command.Ctx, args [][]byte) bool {
	o.rank = 1
	for i := 0; i < len(args); i += 2 {
		if i+1 == len(args) {
			c.Out.Error(command.ErrSyntax)
			return false
		}
		var ok bool
		switch value := args[i+1]; {
		case command.EqualFold(args[i], "rank"):
			if o.rank, ok = symmetricIntArg(c, value); !ok {
				return false
			}
			if o.rank == 0 {
				c.Out.Error(ErrRankZero)
				return false
			}
		case command.EqualFold(args[i], "count"):
			o.many = true
			if o.count, ok = command.ParseInt(value); !ok || o.count < 0 {
				c.Out.Error(ErrNegativeCount)
				return false
			}
		case command.EqualFold(args[i], "maxlen"):
			if o.most, ok = command.ParseInt(value); !ok || o.most < 0 {
				c.Out.Error(ErrNegativeMaxLen)
				return false
			}
		default:
			c.Out.Error(command.ErrSyntax)
			return false
		}
	}
	return true
}

func runLPos(c *command.Ctx, args [][]byte) {
	var o posOptions
	if !o.parse(c, args[3:]) {
		return
	}
	l, ok := readList(c, args[1])
	if !ok {
		return
	}
	var places []int
	if l != nil {
		if !c.Steps(int64(l.Len()) / command.StepListElements) {
			return
		}
		places = o.find(l, args[2], c.Item)
	}
	switch {
	case o.many:
		c.Out.Array(len(places))
		for _, i := range places {
			c.Out.Int(int64(i))
		}
	case len(places) == 0:
		c.Out.Null()
	default:
		c.Out.Int(int64(places[0]))
	}
}

// find returns the indexes of the wanted matches. It calls each for every element that it looks at.
func (o *posOptions) find(l *list.List, text []byte, each func()) (places []int) {
	most, wanted := l.Len(), int64(1)
	if o.most != 0 {
		most = int(min(o.most, int64(most)))
	}
	if o.many {
		wanted = o.count
	}
	skip := max(o.rank, -o.rank) - 1
	for i := range l.Matches(text, o.rank < 0, most, each) {
		if skip > 0 {
			skip--
			continue
		}
		places = append(places, i)
		if int64(len(places)) == wanted {
			break
		}
	}
	return places
}
