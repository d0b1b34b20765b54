package pubsub

import (
	"bytes"
	"slices"
	"strings"

	"lockstep/engine/glob"
)

// prefixBytesMax bounds the literal beginning by which a pattern is indexed; the
// match checks the rest of a longer one.
const prefixBytesMax = 64

// patterns are the subscribed patterns. A message looks only at patterns whose literal
// beginning is that of its channel, with one look-up for each length of such beginnings. Of
// these it is compared with the patterns that have its end.
type patterns struct {
	all map[string]*pattern
	// byPrefix are the patterns with the same literal beginning, in no order;
	// lengths counts the beginnings in byPrefix by their length.
	byPrefix map[string][]*pattern
	lengths  [prefixBytesMax + 1]int
}

type pattern struct {
	text []byte
	// suffix is the literal end, as far as that is easy to see.
	suffix    []byte
	listeners map[Subscriber]struct{}
	// at is the index among the patterns with the same beginning.
	at int
}

func newPatterns() patterns {
	return patterns{all: map[string]*pattern{}, byPrefix: map[string][]*pattern{}}
}

// prefixOf is the literal beginning of a pattern.
func prefixOf(text string) string {
	if i := strings.IndexAny(text, `*?[\`); i >= 0 {
		text = text[:i]
	}
	return text[:min(len(text), prefixBytesMax)]
}

// suffixOf is the literal end of a pattern, if it has no classes.
func suffixOf(text string) string {
	if strings.IndexByte(text, '[') >= 0 {
		return ""
	}
	return text[strings.LastIndexAny(text, `*?\`)+1:]
}

// get returns a pattern, and makes it if necessary.
func (p *patterns) get(text string) *pattern {
	x := p.all[text]
	if x == nil {
		prefix := prefixOf(text)
		list := p.byPrefix[prefix]
		if len(list) == 0 {
			p.lengths[len(prefix)]++
		}
		x = &pattern{text: []byte(text), suffix: []byte(suffixOf(text)), listeners: map[Subscriber]struct{}{}, at: len(list)}
		p.all[text] = x
		p.byPrefix[prefix] = append(list, x)
	}
	return x
}

// remove removes a pattern.
func (p *patterns) remove(text string) {
	x, prefix := p.all[text], prefixOf(text)
	delete(p.all, text)
	list := p.byPrefix[prefix]
	last := len(list) - 1
	list[x.at] = list[last]
	list[x.at].at = x.at
	list[last] = nil
	if last == 0 {
		delete(p.byPrefix, prefix)
		p.lengths[len(prefix)]--
		return
	}
	p.byPrefix[prefix] = list[:last]
}

// matching returns the patterns that match a channel, sorted: one client gets the
// messages to several of its patterns in this order.
func (p *patterns) matching(channel string) []*pattern {
	if len(p.all) == 0 {
		return nil
	}
	var found []*pattern
	name := []byte(channel)
	for length, n := range p.lengths[:min(len(channel), prefixBytesMax)+1] {
		if n == 0 {
			continue
		}
		for _, x := range p.byPrefix[channel[:length]] {
			if bytes.HasSuffix(name, x.suffix) && glob.MatchSoon(x.text, name) {
				found = append(found, x)
			}
		}
	}
	slices.SortFunc(found, func(a, b *pattern) int { return bytes.Compare(a.text, b.text) })
	return found
}
