package command

const (
	// scanDefault is how many keys or elements SCAN and its like visit if they are
	// told no number.
	scanDefault = 10
	// scanMax is the greatest number they visit, whatever they are told.
	scanMax = 100_000
)

// scanOptions are the options that SCAN, SSCAN, HSCAN and ZSCAN share.
type scanOptions struct {
	count int
	// pattern is nil where every key or element will do.
	pattern []byte
}

// parse reads the options. own takes an option that the command has for itself,
// and returns how many arguments it took; nil: it has none. parse answers the
// error itself.
func (o *scanOptions) parse(c *Ctx, args [][]byte, own func(args [][]byte) (taken int)) bool {
	o.count = scanDefault
	for len(args) > 0 {
		taken := 0
		switch {
		case len(args) > 1 && equalFold(args[0], "count"):
			n, ok := c.intArg(args[1])
			if !ok {
				return false
			}
			if n >= 1 {
				o.count, taken = int(min(n, scanMax)), 2
			}
		case len(args) > 1 && equalFold(args[0], "match"):
			o.pattern, taken = args[1], 2
			if string(o.pattern) == "*" {
				o.pattern = nil
			}
		case own != nil:
			taken = own(args)
		}
		if taken == 0 {
			c.Out.Error(ErrSyntax)
			return false
		}
		args = args[taken:]
	}
	return true
}

// admits tells whether an element matches the pattern.
func (o *scanOptions) admits(c *Ctx, element []byte) bool {
	c.item()
	return o.pattern == nil || c.matches(o.pattern, element, false)
}
