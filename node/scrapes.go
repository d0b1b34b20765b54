package node

import "context"

// scrapesMax is how many pages of metrics are made at a time. The port asks for no
// password, and pages cost time that clients would miss.
const scrapesMax = 2

// scrapes lets a few pages be made at a time.
type scrapes chan struct{}

func newScrapes() scrapes { return make(scrapes, scrapesMax) }

// page makes a page when it is its turn; false: ctx ended before.
func (s scrapes) page(ctx context.Context, build func() []byte) ([]byte, bool) {
	select {
	case s <- struct{}{}:
	case <-ctx.Done():
		return nil, false
	}
	defer func() { <-s }()
	return build(), true
}
