package differential

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// A form is one way to write a command, in a small grammar: words in capitals and punctuation stand
// for themselves, names in lower case for an argument that terms draws, [a|b] for nothing or one of
// them, (a|b) for one of them, and x+ for one to four of them.
type form struct {
	weight int
	node   node
	// names are the commands that the form can draw, without their subcommands.
	names []string
}

// node is a part of a parsed form: it appends arguments.
type node interface {
	draw(r *rand.Rand, dst []string) []string
}

type word string

func (w word) draw(_ *rand.Rand, dst []string) []string { return append(dst, string(w)) }

type term func(r *rand.Rand) string

func (t term) draw(r *rand.Rand, dst []string) []string { return append(dst, t(r)) }

type sequence []node

func (s sequence) draw(r *rand.Rand, dst []string) []string {
	for _, n := range s {
		dst = n.draw(r, dst)
	}
	return dst
}

// choice draws one of its parts. An optional choice may draw none.
type choice struct {
	parts    []node
	optional bool
}

func (c choice) draw(r *rand.Rand, dst []string) []string {
	if c.optional && r.IntN(2) == 0 {
		return dst
	}
	return c.parts[r.IntN(len(c.parts))].draw(r, dst)
}

type repeated struct{ node }

func (p repeated) draw(r *rand.Rand, dst []string) []string {
	for range 1 + r.IntN(4) {
		dst = p.node.draw(r, dst)
	}
	return dst
}

// firstWords returns the words with which a drawing of a node may begin.
func firstWords(n node) []string {
	switch n := n.(type) {
	case word:
		return []string{string(n)}
	case sequence:
		return firstWords(n[0])
	case choice:
		var all []string
		for _, part := range n.parts {
			all = append(all, firstWords(part)...)
		}
		return all
	}
	panic(fmt.Sprintf("differential: a form begins with %T", n))
}

// parseForm parses a form. Its terms are in the table in terms.go.
func parseForm(text string) (node, error) {
	for _, c := range "[](|)+" {
		text = strings.ReplaceAll(text, string(c), " "+string(c)+" ")
	}
	p := &formParser{tokens: strings.Fields(text)}
	n, err := p.alternatives("")
	if err == nil && p.at != len(p.tokens) {
		err = fmt.Errorf("%q is left over", p.tokens[p.at:])
	}
	return n, err
}

type formParser struct {
	tokens []string
	at     int
}

func (p *formParser) peek() string {
	if p.at == len(p.tokens) {
		return ""
	}
	return p.tokens[p.at]
}

// alternatives parses up to the closing token, and takes that token.
func (p *formParser) alternatives(closing string) (node, error) {
	var parts []node
	var current sequence
	for {
		token := p.peek()
		p.at++
		switch token {
		case closing:
			if closing == "" {
				p.at--
			}
			return choice{parts: append(parts, current)}, nil
		case "", "]", ")":
			return nil, fmt.Errorf("%q where %q is due", token, closing)
		case "|":
			parts, current = append(parts, current), nil
		case "+":
			if len(current) == 0 {
				return nil, fmt.Errorf("+ after nothing")
			}
			current[len(current)-1] = repeated{current[len(current)-1]}
		case "[", "(":
			inner, err := p.alternatives(map[string]string{"[": "]", "(": ")"}[token])
			if err != nil {
				return nil, err
			}
			c := inner.(choice)
			c.optional = token == "["
			current = append(current, c)
		default:
			if draw, ok := terms[token]; ok {
				current = append(current, draw)
			} else if token == strings.ToLower(token) && strings.ContainsAny(token, "abcdefghijklmnopqrstuvwxyz") {
				return nil, fmt.Errorf("no term %q", token)
			} else {
				current = append(current, word(token))
			}
		}
	}
}
