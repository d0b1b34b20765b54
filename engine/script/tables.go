package script

import (
	"math"

	lua "github.com/yuin/gopher-lua"
)

// The array part of a table ends with an element that is not nil, except within a function of this
// file. So the length needs no search: the interpreter's Len looks from the end. A function that
// sets the last element to nil also removes the nils before it.

// length is the border of a table, as Lua's #.
func (m *meter) length(L *lua.LState, t *lua.LTable) int {
	n := t.Len()
	if n < arrayIndexMax-1 {
		return n
	}
	// The rest is in the hash part: double the index, then bisect.
	lo, hi := n, n+1
	for t.RawGetH(lua.LNumber(hi)) != lua.LNil {
		m.spend(L, priceKeyRead)
		lo, hi = hi, hi*2
		if hi > math.MaxInt32 {
			return lo
		}
	}
	for hi-lo > 1 {
		m.spend(L, priceKeyRead)
		if mid := (lo + hi) / 2; t.RawGetH(lua.LNumber(mid)) != lua.LNil {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}

// at is the element of a table at an index. Elements beyond the array have to be looked up.
func (m *meter) at(t *lua.LTable, i int) lua.LValue {
	if i < arrayIndexMax {
		return t.RawGet(lua.LNumber(i))
	}
	m.count(priceKeyRead + hashPrice(t))
	return t.RawGetH(lua.LNumber(i))
}

// put sets t[key] without metamethods, and charges.
func (r *run) put(L *lua.LState, t *lua.LTable, key, value lua.LValue) {
	if r.refuses(t) {
		L.RaiseError("Attempt to modify a readonly table")
	}
	switch k := key.(type) {
	case lua.LNumber:
		f := float64(k)
		if f != f {
			L.RaiseError("table index is NaN")
		}
		if f >= 1 && f < arrayIndexMax && f == math.Trunc(f) {
			r.putIndex(L, t, int(f), value)
			return
		}
	case *lua.LNilType:
		L.RaiseError("table index is nil")
	}
	r.hashed(L, key)
	r.putHash(L, t, key, value)
}

func (r *run) putIndex(L *lua.LState, t *lua.LTable, i int, value lua.LValue) {
	n := t.Len()
	switch {
	case value != lua.LNil:
		if i > n {
			if n == 0 {
				r.use(L, arrayCost)
			}
			r.use(L, elementCost+skipCost*(i-n-1))
			r.spend(L, priceElement+(i-n)*priceSkip)
		}
		t.RawSetInt(i, value)
	case i < n:
		t.RawSetInt(i, lua.LNil)
	case i == n:
		t.Remove(-1)
		for n--; n > 0 && t.RawGetInt(n) == lua.LNil; n-- {
			r.spend(L, priceElement)
			t.Remove(-1)
		}
	}
}

func (r *run) putHash(L *lua.LState, t *lua.LTable, key, value lua.LValue) {
	r.spend(L, priceKeyRead)
	old := t.RawGetH(key)
	switch {
	case value == lua.LNil && old != lua.LNil:
		r.hole(t, key)
	case value == lua.LNil:
		return
	case old == lua.LNil:
		r.use(L, firstKeyCost(t, key)+keyCost)
		r.spend(L, priceKey+4*hashPrice(t))
	}
	t.RawSetH(key, value)
}

// firstKeyCost is the bytes that a table allocates for its first key of a kind.
func firstKeyCost(t *lua.LTable, key lua.LValue) int {
	_, isText := key.(lua.LString)
	switch {
	case isText && !hasTexts(t):
		return lateKeyCost
	case !isText && !hasOthers(t):
		return hashCost
	}
	return 0
}

// hashPrice is the price of finding a key of a table, compared with a small table: the more keys
// there are, the farther apart they are in memory.
func hashPrice(t *lua.LTable) int {
	switch n := keyCount(t); {
	case n < 1<<10:
		return 0
	case n < 1<<15:
		return priceFar
	case n < 1<<18:
		return priceFarther
	}
	return priceFarthest
}

// hashed charges for looking up a key.
func (m *meter) hashed(L *lua.LState, key lua.LValue) {
	if s, ok := key.(lua.LString); ok && len(s) > bytesHashed {
		m.spend(L, len(s)/bytesHashed)
	}
}

// walk is the state of a table that has lost keys. The interpreter keeps the place of a lost key,
// and each walk steps over it. holes is the most there can be; a long key counts as several.
type walk struct {
	holes int
	last  lua.LValue // the key that next returned last
}

func (r *run) hole(t *lua.LTable, key lua.LValue) {
	w := r.walkOf(t)
	if w == nil {
		w = r.beginWalk(t, 0)
	}
	w.holes++
	if s, ok := key.(lua.LString); ok {
		w.holes += len(s) / 32
	}
}

func (r *run) beginWalk(t *lua.LTable, holes int) *walk {
	if r.walks == nil {
		r.walks = map[*lua.LTable]*walk{}
	}
	w := &walk{holes: holes}
	r.walks[t] = w
	return w
}

// walkOf is the walk of a table that has lost keys, in this run or when its library was loaded. It
// is nil if the table has lost none.
func (r *run) walkOf(t *lua.LTable) *walk {
	if w := r.walks[t]; w != nil {
		return w
	}
	if r.library != nil {
		if holes := r.library.holes[t]; holes > 0 {
			return r.beginWalk(t, holes)
		}
	}
	return nil
}

// next is Lua's next. A walk from key to key passes each lost key once, and pays for all of them
// when it begins. A script that does not walk in order pays at each call.
func (r *run) next(L *lua.LState, t *lua.LTable, key lua.LValue) (lua.LValue, lua.LValue) {
	w := r.walkOf(t)
	r.hashed(L, key)
	if w != nil && (key == lua.LNil || key != w.last) {
		r.spend(L, w.holes*priceHole)
	}
	from := 0
	if k, ok := key.(lua.LNumber); ok && float64(k) >= 1 && float64(k) < arrayIndexMax && float64(k) == math.Trunc(float64(k)) {
		n := t.Len()
		from = int(k)
		if from > n {
			// The end of the array was removed behind the walk.
			from = n
			if key = lua.LNumber(n); n == 0 {
				key = lua.LNil
			}
		}
	} else if key != lua.LNil && w == nil && t.RawGetH(key) == lua.LNil {
		L.RaiseError("invalid key to 'next'")
	}
	r.spend(L, priceNext+2*hashPrice(t))
	k, v := t.Next(key)
	if i, ok := k.(lua.LNumber); ok && int(i)-from > 1 && float64(i) < arrayIndexMax {
		r.spend(L, (int(i)-from)*priceSkip)
	}
	r.hashed(L, k)
	if w != nil {
		w.last = k
	}
	return k, v
}
