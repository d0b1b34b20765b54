package script

import (
	lua "github.com/yuin/gopher-lua"
)

var tableLibrary []entry

func init() {
	tableLibrary = []entry{
		{"concat", tabConcat}, {"foreach", tabForeach}, {"foreachi", tabForeachi}, {"getn", tabGetn}, {"insert", tabInsert},
		{"maxn", tabMaxn}, {"remove", tabRemove}, {"setn", tabSetn}, {"sort", tabSort},
	}
}

func tabConcat(L *lua.LState) int {
	m := meterOf(L)
	if L.Get(2) != lua.LNil {
		str(L, "concat", 2) // its error comes first
	}
	t := tab(L, "concat", 1)
	sep := ""
	if L.Get(2) != lua.LNil {
		sep = str(L, "concat", 2)
	}
	i := optInteger(L, "concat", 3, 1)
	j := 0
	if L.Get(4) != lua.LNil {
		j = integer(L, "concat", 4)
	} else {
		j = m.length(L, t)
	}
	total := 0
	for k := i; k <= j; k++ {
		v := m.at(t, k)
		if !isText(v) {
			L.RaiseError("invalid value (%s) at index %d in table for 'concat'", v.Type(), k)
		}
		m.spend(L, pricePart+numeralPrice(v))
		if total += textLength(v) + len(sep); int64(total) > m.bytes {
			break // the run ends here in any case
		}
	}
	m.text(L, total)
	out := make([]byte, 0, total)
	for k := i; k <= j; k++ {
		out = appendText(out, m.at(t, k))
		if k < j {
			out = append(out, sep...)
		}
	}
	L.Push(asText(out))
	return 1
}

func tabForeach(L *lua.LState) int {
	t := tab(L, "foreach", 1)
	r := runOf(L)
	wantsFunction(L, "foreach", 2)
	for k, v := r.next(L, r.real(t), lua.LNil); k != lua.LNil; k, v = r.next(L, r.real(t), k) {
		r.call(L, 1, L.Get(2), k, v)
		if L.Get(-1) != lua.LNil {
			return 1
		}
		L.Pop(1)
	}
	return 0
}

func tabForeachi(L *lua.LState) int {
	t := tab(L, "foreachi", 1)
	r := runOf(L)
	wantsFunction(L, "foreachi", 2)
	n := r.length(L, t)
	for i := 1; i <= n; i++ {
		r.call(L, 1, L.Get(2), lua.LNumber(i), r.at(t, i))
		if L.Get(-1) != lua.LNil {
			return 1
		}
		L.Pop(1)
	}
	return 0
}

// wantsFunction refuses an argument that is not a function.
func wantsFunction(L *lua.LState, name string, i int) {
	if L.Get(i).Type() != lua.LTFunction {
		badType(L, name, i, "function")
	}
}

func tabGetn(L *lua.LState) int {
	return pushNumber(L, float64(meterOf(L).length(L, tab(L, "getn", 1))))
}

func tabSetn(L *lua.LState) int {
	tab(L, "setn", 1)
	L.RaiseError("'setn' is obsolete")
	return 0
}

func tabMaxn(L *lua.LState) int {
	t := tab(L, "maxn", 1)
	r := runOf(L)
	most := 0.0
	for k, _ := r.next(L, t, lua.LNil); k != lua.LNil; k, _ = r.next(L, t, k) {
		r.spend(L, priceNext)
		if n, ok := k.(lua.LNumber); ok && float64(n) > most {
			most = float64(n)
		}
	}
	return pushNumber(L, most)
}

func tabInsert(L *lua.LState) int {
	t := tab(L, "insert", 1)
	r := runOf(L)
	n := r.length(L, t) + 1
	switch L.GetTop() {
	case 2:
		r.put(L, t, lua.LNumber(n), L.Get(2))
	case 3:
		pos := integer(L, "insert", 2)
		n = max(n, pos)
		for i := n; i > pos; i-- {
			r.spend(L, priceMove)
			r.put(L, t, lua.LNumber(i), r.at(t, i-1))
		}
		r.put(L, t, lua.LNumber(pos), L.Get(3))
	default:
		L.RaiseError("wrong number of arguments to 'insert'")
	}
	return 0
}

func tabRemove(L *lua.LState) int {
	t := tab(L, "remove", 1)
	r := runOf(L)
	n := r.length(L, t)
	pos := optInteger(L, "remove", 2, n)
	if pos < 1 || pos > n {
		return 0
	}
	v := r.at(t, pos)
	for ; pos < n; pos++ {
		r.spend(L, priceMove)
		r.put(L, t, lua.LNumber(pos), r.at(t, pos+1))
	}
	r.put(L, t, lua.LNumber(n), lua.LNil)
	L.Push(v)
	return 1
}

// tabSort is Lua 5.1's quicksort with the same comparisons: a script may see the order of the calls
// to its function, and the order of equal elements.
func tabSort(L *lua.LState) int {
	t := tab(L, "sort", 1)
	r := runOf(L)
	if r.refuses(t) {
		r.raise(L, "Attempt to modify a readonly table")
	}
	s := sorter{run: r, L: L, t: t, less: L.Get(2)}
	if s.less != lua.LNil {
		if _, ok := s.less.(*lua.LFunction); !ok {
			badType(L, "sort", 2, "function")
		}
	}
	s.sort(1, r.length(L, t))
	return 0
}

type sorter struct {
	run  *run
	L    *lua.LState
	t    *lua.LTable
	less lua.LValue
}

func (s *sorter) before(a, b lua.LValue) bool {
	s.run.spend(s.L, priceSort)
	if s.less == lua.LNil {
		return less(s.L, a, b)
	}
	s.run.call(s.L, 1, s.less, a, b)
	v := lua.LVAsBool(s.L.Get(-1))
	s.L.Pop(1)
	return v
}

func (s *sorter) set(i int, v lua.LValue) { s.run.put(s.L, s.t, lua.LNumber(i), v) }

// order puts the elements at i and j in order.
func (s *sorter) order(i, j int) bool {
	a, b := s.run.at(s.t, i), s.run.at(s.t, j)
	if s.before(b, a) {
		s.set(i, b)
		s.set(j, a)
		return true
	}
	return false
}

func (s *sorter) sort(lo, up int) {
	for lo < up {
		s.order(lo, up)
		if up-lo == 1 {
			return
		}
		mid := (lo + up) / 2
		if !s.order(lo, mid) {
			s.order(mid, up)
		}
		if up-lo == 2 {
			return
		}
		pivot := s.run.at(s.t, mid)
		s.set(mid, s.run.at(s.t, up-1))
		s.set(up-1, pivot)
		i := s.partition(pivot, lo, up)
		// Sort the smaller half first: the depth is then logarithmic.
		if i-lo < up-i {
			s.sort(lo, i-1)
			lo = i + 1
		} else {
			s.sort(i+1, up)
			up = i - 1
		}
	}
}

func (s *sorter) partition(pivot lua.LValue, lo, up int) int {
	i, j := lo, up-1
	for {
		for i++; s.before(s.run.at(s.t, i), pivot); i++ {
			if i > up {
				s.L.RaiseError("invalid order function for sorting")
			}
		}
		for j--; s.before(pivot, s.run.at(s.t, j)); j-- {
			if j < lo {
				s.L.RaiseError("invalid order function for sorting")
			}
		}
		if j < i {
			break
		}
		a, b := s.run.at(s.t, i), s.run.at(s.t, j)
		s.set(i, b)
		s.set(j, a)
	}
	a, b := s.run.at(s.t, up-1), s.run.at(s.t, i)
	s.set(up-1, b)
	s.set(i, a)
	return i
}
