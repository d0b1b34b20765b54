package script_test

import (
	"bytes"
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"lockstep/engine/reply"
	"lockstep/engine/script"
)

// programs makes random programs: loops, blocks, closures that share variables, errors that are
// caught, coroutines. Variables for numbers are separate from those for any values, so that most
// programs run to their end.
type programs struct {
	drawer
	text strings.Builder
	// vars are the visible variables by kind: n is a number, a anything, t an array of numbers, f a
	// function of numbers.
	vars map[byte][]string
	// made numbers the names; loops is how many loops are open in the innermost function.
	made, loops, depth int
	vararg             bool
}

const prologue = `local out, budget = {}, 400
local function tick() budget = budget - 1 if budget < 0 then error('enough') end end
local function show(...)
  tick()
  for i = 1, select('#', ...) do
    local v = select(i, ...)
    local k = type(v)
    out[#out + 1] = (k == 'number' or k == 'string' or k == 'boolean' or k == 'nil') and tostring(v) or k
  end
end
local function num(x) tick() if type(x) == 'number' then return x end return 7 end
local function two(x) tick() return x, num(x) + 1 end
local function none() tick() end
local function only(x) tick() return x end
local function upto(n) local i = 0 return function() i = i + 1 if i <= n then return i, i * 2 end end end
local function after(t, i) i = (i or 0) + 1 if i <= 3 then return i, t end end
local fs = {}
`

func (p *programs) w(format string, args ...any) { fmt.Fprintf(&p.text, format, args...) }

func (p *programs) fresh(kind byte) string {
	p.made++
	return fmt.Sprintf("%c%d", kind, p.made)
}

func (p *programs) see(kind byte, name string) { p.vars[kind] = append(p.vars[kind], name) }

// inside draws code whose variables are not visible afterwards.
func (p *programs) inside(draw func()) {
	vars := map[byte][]string{}
	for kind, names := range p.vars {
		vars[kind] = slices.Clone(names)
	}
	was := p.vars
	p.vars = vars
	draw()
	p.vars = was
}

func (p *programs) one(kind byte, otherwise string) string {
	if names := p.vars[kind]; len(names) > 0 {
		return names[p.Intn(len(names))]
	}
	return otherwise
}

func (p *programs) n(depth int) string {
	if depth <= 0 {
		return p.of(fmt.Sprint(p.Intn(9)), p.one('n', "3"), p.one('n', "2"), p.one('n', "5"))
	}
	a, b := func() string { return p.n(depth - 1) }, func() string { return p.b(depth - 1) }
	switch p.Intn(11) {
	case 0, 1:
		return "(" + a() + " " + p.of("+", "-", "*") + " " + a() + ") % 97"
	case 2:
		return "(" + b() + " and " + a() + " or " + a() + ")"
	case 3:
		return "#" + p.one('t', "out")
	case 4:
		return p.one('f', "num") + "(" + a() + ")"
	case 5:
		return "num(" + p.a(depth-1) + ")"
	case 6:
		return "(two(" + a() + "))"
	case 7:
		return "select(" + p.of("1", "2") + ", two(" + a() + "))"
	case 8:
		return "(3 - " + p.n(0) + ")"
	}
	return p.n(0)
}

func (p *programs) b(depth int) string {
	if depth <= 0 {
		return p.of("true", "false", "nil", p.n(0)+" < "+p.n(0), p.n(0)+" == "+p.n(0), p.one('a', "nil"))
	}
	switch p.Intn(7) {
	case 0:
		return "(" + p.b(depth-1) + p.of(" and ", " or ") + p.b(depth-1) + ")"
	case 1:
		return p.b(depth-1) + p.of(" and ", " or ") + p.b(depth-1)
	case 2:
		return "not " + p.b(depth-1)
	case 3:
		return p.n(depth-1) + p.of(" < ", " <= ", " > ", " >= ", " == ", " ~= ") + p.n(depth-1)
	case 4:
		return p.a(depth-1) + p.of(" == ", " ~= ") + p.a(depth-1)
	}
	return p.b(0)
}

func (p *programs) a(depth int) string {
	if depth <= 0 {
		return p.of("nil", "true", "false", "'s'", p.n(0), p.one('a', "nil"), p.one('a', "1"))
	}
	switch p.Intn(9) {
	case 0:
		return "(" + p.b(depth-1) + " and " + p.a(depth-1) + " or " + p.a(depth-1) + ")"
	case 1:
		return "(" + p.a(depth-1) + p.of(" and ", " or ") + p.a(depth-1) + ")"
	case 2:
		return "(" + p.b(depth-1) + ")"
	case 3:
		return p.one('t', "out") + "[" + p.n(depth-1) + "]"
	case 4:
		return p.n(depth-1) + " .. 'x' .. " + p.n(0)
	case 5:
		return "(none())"
	}
	return p.n(depth - 1)
}

// list draws an expression with any number of values.
func (p *programs) list() string {
	var parts []string
	for range 1 + p.Intn(3) {
		parts = append(parts, p.a(2))
	}
	last := []string{p.a(2), "two(" + p.n(1) + ")", "none()", "pcall(two, " + p.n(0) + ")"}
	if p.vararg {
		last = append(last, "...", "(...)", "select('#', ...)")
	}
	return strings.Join(append(parts, p.of(last...)), ", ")
}

func (p *programs) block(most int) {
	p.depth++
	p.inside(func() {
		for range 1 + p.Intn(most) {
			p.stmt()
		}
		if p.loops > 0 && p.Intn(5) == 0 {
			p.w("break\n")
		}
	})
	p.depth--
}

func (p *programs) stmt() {
	if p.depth > 4 {
		p.simple()
		return
	}
	switch p.Intn(16) {
	case 0, 1:
		p.conditional()
	case 2, 3, 4:
		p.loop()
	case 5:
		p.w("do\n")
		p.block(3)
		p.w("end\n")
	case 6:
		p.function()
	case 7:
		p.caught()
	case 8:
		p.coroutine()
	default:
		p.simple()
	}
}

func (p *programs) simple() {
	switch p.Intn(12) {
	case 0, 1:
		name, value := p.fresh('n'), p.n(2)
		p.w("local %s = %s\n", name, value)
		p.see('n', name)
	case 2:
		a, b := p.fresh('a'), p.fresh('a')
		p.w("local %s, %s = %s\n", a, b, p.list())
		p.see('a', a)
		p.see('a', b)
	case 3:
		name := p.fresh('t')
		p.w("local %s = {%s, %s, num(%s)}\n", name, p.n(1), p.n(1), p.a(1))
		p.see('t', name)
	case 4:
		if t := p.one('t', ""); t != "" {
			p.w("%s[#%s + 1] = %s\n", t, t, p.n(2))
		}
	case 5:
		if a, b := p.one('n', ""), p.one('n', ""); a != b {
			p.w("%s, %s = %s, %s\n", a, b, p.n(1), p.n(1))
		}
	case 6:
		if n := p.one('n', ""); n != "" {
			p.w("fs[#fs + 1] = function(x) %s = (%s + num(x)) %% 89 return %s end\n", n, n, n)
		}
	case 7:
		p.w("if #fs > 0 then show(fs[1 + %s %% #fs](%s)) end\n", p.n(1), p.n(0))
	case 8:
		if a := p.one('a', ""); a != "" {
			p.w("%s = %s\n", a, p.a(2))
		}
	case 9:
		if n := p.one('n', ""); n != "" {
			p.w("%s = %s\n", n, p.n(3))
		}
	default:
		p.w("show(%s)\n", p.list())
	}
}

func (p *programs) conditional() {
	p.w("if %s then\n", p.b(2))
	p.block(3)
	if p.Intn(3) == 0 {
		p.w("elseif %s then\n", p.b(2))
		p.block(2)
	}
	if p.Intn(2) == 0 {
		p.w("else\n")
		p.block(2)
	}
	p.w("end\n")
}

func (p *programs) loop() {
	p.inside(func() {
		first := ""
		if p.Intn(3) > 0 {
			first = "tick()\n"
		}
		p.loops++
		i, v := p.fresh('n'), p.fresh('n')
		switch p.Intn(7) {
		case 0:
			p.w("for %s = %s, %s do tick()\n", i, p.n(1), p.n(1))
			p.see('n', i)
			p.block(4)
			p.w("end\n")
		case 1:
			p.w("for %s = 5, 1, -2 do %s", i, first)
			p.see('n', i)
			p.block(3)
			p.w("end\n")
		case 2, 3:
			t := p.one('t', "{4, 5}")
			p.w("for %s in %s do %s", p.of(i, i+", "+v, i+", "+v+", z"), p.of("ipairs("+t+")", "pairs("+t+")", "next, "+t, "upto(3)", "after, 2", "after, 5, 1", "after", "upto(2), none()", "next, only("+t+")"), first)
			p.see('n', i)
			p.block(4)
			p.w("end\n")
		case 4:
			p.w("local %s = 0\nwhile %s do tick() %s = %s + 1\n", i, p.of(i+" < 3", "true", "true and "+i+" < 4", p.b(1)+" and "+i+" < 3"), i, i)
			p.see('n', i)
			p.block(4)
			p.w("end\n")
		case 5:
			p.w("while true do\nif %s then\n", p.b(1))
			p.block(3)
			p.w("end\ntick() if %s then break end\nend\n", p.b(2))
		default:
			p.w("local %s = 0\nrepeat\ndo %s = %s + 1\n", i, i, i)
			p.see('n', i)
			p.block(4)
			p.w("end\ntick() local %s = %s\nuntil %s > 3 or %s\n", v, p.n(1), i, p.of(v+" > 2", p.b(1)))
		}
		p.loops--
	})
}

// apart draws the body of a function.
func (p *programs) apart(vararg bool, draw func()) {
	loops, was := p.loops, p.vararg
	p.loops, p.vararg = 0, vararg
	draw()
	p.loops, p.vararg = loops, was
}

func (p *programs) function() {
	f, x := p.fresh('f'), p.fresh('n')
	vararg := p.Intn(2) == 0
	rest := map[bool]string{true: ", ..."}[vararg]
	p.w("local %s\n%s = function(%s%s) tick() %s = num(%s)\n", f, f, x, rest, x, x)
	p.apart(vararg, func() {
		p.inside(func() {
			p.see('n', x)
			p.block(4)
			p.w("do return %s end\n", p.of(p.n(1), p.n(2), "num("+p.n(1)+")"))
		})
	})
	p.w("end\n")
	p.see('f', f)
	p.w("show(%s(%s, %s))\n", f, p.n(0), p.list())
}

func (p *programs) caught() {
	p.w("show((pcall(function()\n")
	p.apart(false, func() {
		p.block(3)
		if p.Intn(3) > 0 {
			p.w("%s\n", p.of("error('x')", "local nothing nothing.x = 1", "tick(nil .. 1)", "show(nil + 1)", "error({})", "none()()"))
		}
	})
	p.w("end)))\n")
}

func (p *programs) coroutine() {
	c := p.fresh('c')
	p.w("local %s = coroutine.wrap(function(x)\n", c)
	p.apart(false, func() {
		p.block(2)
		p.w("show(coroutine.yield(%s))\n", p.n(1))
		p.block(2)
		if p.Intn(2) == 0 {
			p.w("do local a, b = coroutine.yield(%s) show(a == nil) show(b == nil) end\n", p.n(1))
		}
		p.w("do return %s end\n", p.of(p.n(0), "coroutine.yield(1)"))
	})
	p.w("end)\nshow(%s(1))\nshow((pcall(%s, 2)))\nshow((pcall(%s%s)))\nshow((pcall(%s)))\n", c, c, c, p.of("", ", 3", ", 3, 4"), c)
}

// drawn returns a random program. The program returns the values that it has shown.
func (p *programs) drawn() string {
	p.vars = map[byte][]string{}
	p.text.Reset()
	p.made, p.loops, p.depth = 0, 0, 0
	p.w("%slocal ended = pcall(function()\n", strings.ReplaceAll(prologue, "\n", " "))
	for range 4 + p.Intn(6) {
		p.stmt()
	}
	p.w("end)\nout[#out + 1] = tostring(ended) budget = 100\n")
	p.w("for i = 1, math.min(#fs, 5) do local ok, n = pcall(fs[i], i) out[#out + 1] = ok and n or 'failed' end\nreturn out")
	return p.text.String()
}

// TestDrawnProgramsDoWhatTheyDoInRedis runs random programs on both sides.
func TestDrawnProgramsDoWhatTheyDoInRedis(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it uses one goroutine")
	}
	o := startOracle(t)
	const rounds = 2000
	p := &programs{drawer: drawer{rand.New(rand.NewSource(drawnSeed(t)))}}
	var e script.Interpreters
	bad, shown := 0, 0
	for range rounds {
		source := p.drawn()
		want := o.exec("EVAL", source, "0")
		got := eval(t, &e, newHost(), reply.RESP2, &script.DefaultLimits, source, nil, nil)
		shown += bytes.Count(want, []byte("$"))
		if want[0] != '*' {
			t.Fatalf("%s\n%q", source, want)
		}
		if !bytes.Equal(got, want) {
			if bad++; bad <= 5 {
				t.Errorf("%s\n got %.500q\nwant %.500q", source, got, want)
			}
		}
	}
	t.Logf("%d of %d programs do the same; they showed %d values", rounds-bad, rounds, shown)
	if bad > 0 || shown < 10*rounds {
		t.Fail()
	}
}
