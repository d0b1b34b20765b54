package differential

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
)

// bitForms are the forms for bitmaps and HyperLogLogs. HyperLogLogs have their own keys. PFCOUNT of
// one key stores its estimate in Redis, but not here; tests/corpus and engine/command compare it.
// PFCOUNT of several keys is compared here (see storesEstimate).
var bitForms = []formText{
	{8, "SETBIT key bitat (0|1)"},
	{1, "SETBIT key (bitat|X|-1) (2|X|1)"},
	{5, "GETBIT key bitat"},
	{4, "BITCOUNT key [small small [BIT|BYTE]]"},
	{4, "BITPOS key (0|1) [small [small [BIT|BYTE]]]"},
	{5, "BITOP (AND|OR|XOR) key key+"},
	{2, "BITOP NOT key key"},
	{6, "BITFIELD key (GET bits bitoff|SET bits bitoff int|INCRBY bits bitoff int|OVERFLOW (WRAP|SAT|FAIL))+"},
	{3, "BITFIELD_RO key (GET bits bitoff)+"},
	{1, "BITFIELD_RO key (SET bits bitoff int|GET bits X|GET X 0)"},
	{8, "PFADD hll value+"},
	{1, "PFADD (key|hll)"},
	{6, "PFCOUNT hll hll+"},
	{1, "PFCOUNT key key+"},
	{4, "PFMERGE hll hll+"},
	{1, "PFDEBUG (ENCODING|DECODE|TODENSE|NOSUCH) hll"},
	{2, "(DEL|STRLEN|TYPE|PERSIST) hll"},
	{1, "COPY hll hll REPLACE"},
	{1, "PEXPIREAT hll atms"},
	{1, "COMMAND GETKEYS (BITOP AND key key+|BITFIELD key GET bits bitoff|PFCOUNT hll+|PFMERGE hll hll+|PFDEBUG DECODE hll)"},
	{1, "COMMAND GETKEYSANDFLAGS (BITOP AND key key+|BITFIELD key (GET bits bitoff)+|BITFIELD key GET bits 0 SET bits 0 1|PFCOUNT hll+|PFMERGE hll hll+)"},
}

func drawHLL(r *rand.Rand) string { return pick(r, "h1", "h2", "{t}h") }

// drawBitField draws a field's type, now and then an invalid one.
func drawBitField(r *rand.Rand) string {
	if r.IntN(30) == 0 {
		return pick(r, "u64", "i65", "u0", "x8", "")
	}
	return pick(r, "u", "i") + strconv.Itoa(1+r.IntN(63))
}

func drawBitAt(r *rand.Rand) string {
	if r.IntN(20) == 0 {
		return strconv.Itoa(r.IntN(5000))
	}
	return strconv.Itoa(r.IntN(200))
}

func drawBitOffset(r *rand.Rand) string {
	if r.IntN(2) == 0 {
		return drawBitAt(r)
	}
	return fmt.Sprintf("#%d", r.IntN(10))
}

// storesEstimate reports a PFCOUNT of one key: in Redis it changes the string, which every other
// command could then show.
func storesEstimate(args []string) bool {
	return strings.EqualFold(args[0], "PFCOUNT") && len(args) == 2
}
