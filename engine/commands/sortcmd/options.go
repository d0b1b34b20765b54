package sortcmd

import (
	"lockstep/engine/command"
	"lockstep/engine/commands/listcmd"
)

// sortOptions are the options of SORT.
type sortOptions struct {
	descending, alpha bool
	// unsorted is set if BY has no star: the elements keep their order.
	unsorted bool
	by       *sortPattern
	gets     []sortPattern
	// offset and count are those of LIMIT. A negative count means all.
	offset, count int64
	store         []byte // nil if the elements are the reply
}

// parse reads the options of a command. It answers the error itself.
func (o *sortOptions) parse(c *command.Ctx, args [][]byte, mayStore bool) bool {
	key := args[1]
	o.count = -1
	for i := 2; i < len(args); i++ {
		left := len(args) - i - 1
		switch option := args[i]; {
		case command.EqualFold(option, "asc"):
			o.descending = false
		case command.EqualFold(option, "desc"):
			o.descending = true
		case command.EqualFold(option, "alpha"):
			o.alpha = true
		case command.EqualFold(option, "limit") && left >= 2:
			var ok bool
			if o.offset, o.count, ok = listcmd.RangeArgs(c, args[i+1], args[i+2]); !ok {
				return false
			}
			i += 2
		case command.EqualFold(option, "store") && left >= 1 && mayStore:
			i++
			o.store = args[i]
		case command.EqualFold(option, "by") && left >= 1:
			i++
			if !o.parseBy(c, args, args[i]) {
				return false
			}
		case command.EqualFold(option, "get") && left >= 1:
			i++
			get := newSortPattern(args[i])
			if c.Owns != nil && !get.stays(key) {
				c.Out.Error(ErrSortGet)
				return false
			}
			if !readsAll(c, args) {
				c.Out.Error(ErrSortGetUser)
				return false
			}
			o.gets = append(o.gets, get)
		default:
			c.Out.Error(command.ErrSyntax)
			return false
		}
	}
	return true
}

func (o *sortOptions) parseBy(c *command.Ctx, args [][]byte, text []byte) bool {
	by := newSortPattern(text)
	if by.constant() {
		o.unsorted = true
	} else if c.Owns != nil && !by.stays(args[1]) {
		c.Out.Error(ErrSortBy)
		return false
	} else if !readsAll(c, args) {
		c.Out.Error(ErrSortByUser)
		return false
	}
	o.by = &by
	return true
}

// window is the part of n elements that LIMIT leaves: from first up to end.
func (o *sortOptions) window(n int) (first, end int) {
	first = int(min(max(o.offset, 0), int64(n)))
	end = n
	if o.count >= 0 {
		end = first + int(min(o.count, int64(n-first)))
	}
	return first, end
}
