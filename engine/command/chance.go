package command

// Chance is a sequence of numbers that look random. It is a function of its seed alone (SplitMix64;
// Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014), so all replicas draw
// the same numbers.
type Chance struct{ state uint64 }

// NewChance returns the sequence of a seed.
func NewChance(seed uint64) *Chance { return &Chance{seed} }

// Chance returns the sequence of this txn.
func (c *Ctx) Chance() *Chance { return &Chance{c.Seed} }

// Next returns the next number.
func (r *Chance) Next() uint64 {
	r.state += 0x9e3779b97f4a7c15
	z := r.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// Below returns a number from 0 to n-1; n must be positive.
func (r *Chance) Below(n int) int { return int(r.Next() % uint64(n)) }
