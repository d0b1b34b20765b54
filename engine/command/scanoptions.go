package command

const (
	// scanDefault is how many keys or elements SCAN and its like visit without COUNT.
	scanDefault = 10
	// ScanMax is the most keys or elements that they visit, whatever COUNT is.
	ScanMax = 100_000
)

// ScanOptions are the options that SCAN, SSCAN, HSCAN and ZSCAN share.
type ScanOptions struct {
	Count int
	// Pattern is nil if every key or element matches.
	Pattern []byte
}

// Parse reads the options. own reads an option that only this command has, and returns how many
// arguments it took; own may be nil. Parse answers the error itself.
func (o *ScanOptions) Parse(c *Ctx, args [][]byte, own func(args [][]byte) (taken int)) bool {
	o.Count = scanDefault
	for len(args) > 0 {
		taken := 0
		switch {
		case len(args) > 1 && EqualFold(args[0], "count"):
			n, ok := c.IntArg(args[1])
			if !ok {
				return false
			}
			if n >= 1 {
				o.Count, taken = int(min(n, ScanMax)), 2
			}
		case len(args) > 1 && EqualFold(args[0], "match"):
			o.Pattern, taken = args[1], 2
			if string(o.Pattern) == "*" {
				o.Pattern = nil
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

// Admits reports whether an element matches the pattern.
func (o *ScanOptions) Admits(c *Ctx, element []byte) bool {
	c.Item()
	return o.Pattern == nil || c.Matches(o.Pattern, element, false)
}
