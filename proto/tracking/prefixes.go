package tracking

import (
	"slices"
	"strings"
)

// prefixes are the prefixes of BCast clients, with their clients. Every write of a key checks them,
// and a client may have many. So a key is looked up once for each length that a prefix has, and not
// compared with each prefix.
type prefixes struct {
	clients map[string][]*tracker
	// lengths are the lengths of the prefixes, ascending.
	lengths []prefixLength
}

// prefixLength is a length and how many prefixes have it.
type prefixLength struct{ bytes, number int }

func newPrefixes() prefixes { return prefixes{clients: map[string][]*tracker{}} }

func (p *prefixes) number() int { return len(p.clients) }

func (p *prefixes) add(text string, c *tracker) {
	if p.clients[text] == nil {
		p.count(len(text), 1)
	}
	p.clients[text] = append(p.clients[text], c)
}

func (p *prefixes) remove(text string, c *tracker) {
	rest := slices.DeleteFunc(p.clients[text], func(other *tracker) bool { return other == c })
	if len(rest) > 0 {
		p.clients[text] = rest
		return
	}
	delete(p.clients, text)
	p.count(len(text), -1)
}

func (p *prefixes) count(bytes, by int) {
	i, found := slices.BinarySearchFunc(p.lengths, bytes, func(l prefixLength, bytes int) int { return l.bytes - bytes })
	if !found {
		p.lengths = slices.Insert(p.lengths, i, prefixLength{bytes: bytes})
	}
	if p.lengths[i].number += by; p.lengths[i].number == 0 {
		p.lengths = slices.Delete(p.lengths, i, i+1)
	}
}

// hit is a prefix, the keys that begin with it, and the clients that want them.
type hit struct {
	prefix  string
	keys    []string
	clients []*tracker
}

// hits returns the prefixes of keys, in their order. Keys are sorted, so those of
// one prefix stand together.
func (p *prefixes) hits(sorted []string) []hit {
	var all []hit
	for _, l := range p.lengths {
		any := false
		for i, next := 0, 0; i < len(sorted); i = next {
			next = i + 1
			if len(sorted[i]) < l.bytes {
				continue
			}
			any = true
			prefix := sorted[i][:l.bytes]
			clients := p.clients[prefix]
			if clients == nil {
				continue
			}
			for next < len(sorted) && strings.HasPrefix(sorted[next], prefix) {
				next++
			}
			all = append(all, hit{prefix, sorted[i:next], clients})
		}
		if !any {
			break // longer prefixes have no keys either
		}
	}
	slices.SortFunc(all, func(a, b hit) int { return strings.Compare(a.prefix, b.prefix) })
	return all
}
