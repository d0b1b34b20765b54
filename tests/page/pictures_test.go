package page

import (
	"bytes"
	"cmp"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"lockstep/tests/kit/proc"
)

// TestPictures saves the pictures of the documentation, of a busy cluster, in the folder that
// LOCKSTEP_SCREENSHOTS names.
func TestPictures(t *testing.T) {
	dir := os.Getenv("LOCKSTEP_SCREENSHOTS")
	if dir == "" {
		t.Skip("pictures are taken when LOCKSTEP_SCREENSHOTS names a folder")
	}
	w := newWorld(t)
	defer w.busy(t)()
	defer w.write(t)()
	proc.Wait(t, patience, "leaders are spread", func() bool { s := w.state(t, 0); return len(s.Changes) > 0 && len(unwell(s)) == 0 })
	began := time.Now()
	proc.Wait(t, 2*patience, "a minute of work", func() bool { return time.Since(began) > time.Minute })
	b := openBrowser(t)
	for _, look := range []struct {
		name  string
		width int
		dark  bool
		// tall is the height of the picture.
		tall int
	}{{"page-wide", 1100, false, 1800}, {"page-phone", 360, true, 1500}} {
		p := b.open(w.pages[0]+"/", look.width, look.dark)
		p.await("three nodes", "document.querySelectorAll('#nodes > li:not(.gone)').length === 3")
		if err := p.eval("document.querySelector('input[value=\"60\"]').click()", nil); err != nil {
			t.Fatal(err)
		}
		p.await("lines", "document.querySelectorAll('path.line[d^=M]').length > 6")
		path := filepath.Join(dir, look.name+".png")
		if err := os.WriteFile(path, small(t, p.picture(), look.tall), 0o644); err != nil {
			t.Fatal(err)
		}
		fmt.Println(path)
	}
}

// small cuts a picture off and reduces it to its 256 most frequent colours, so that it needs little
// space in the repository.
func small(t *testing.T, data []byte, tall int) []byte {
	t.Helper()
	full, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	cut := full.Bounds()
	cut.Max.Y = min(cut.Max.Y, tall)
	seen := map[color.RGBA]int{}
	for y := range cut.Max.Y {
		for x := range cut.Max.X {
			seen[color.RGBAModel.Convert(full.At(x, y)).(color.RGBA)]++
		}
	}
	most := slices.SortedFunc(maps.Keys(seen), func(a, b color.RGBA) int { return cmp.Compare(seen[b], seen[a]) })
	var few color.Palette
	for _, c := range most[:min(len(most), 256)] {
		few = append(few, c)
	}
	out := image.NewPaletted(cut, few)
	draw.Draw(out, cut, full, image.Point{}, draw.Src)
	var b bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, out); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// write writes and reads through all nodes until stop is called.
func (w *world) write(t *testing.T) (stop func()) {
	t.Helper()
	end, ended := make(chan struct{}), make(chan struct{})
	for i, n := range w.Nodes {
		c := proc.Dial(t, n.Addr())
		go func() {
			defer func() { ended <- struct{}{} }()
			for round := 0; ; round++ {
				select {
				case <-end:
					return
				default:
				}
				for j := range 1 + 2*i {
					_, _ = c.Do("SET", strconv.Itoa(round%5000*8+j), "v")
				}
				_, _ = c.Do("GET", strconv.Itoa(round%5000))
			}
		}()
	}
	return func() {
		close(end)
		for range w.Nodes {
			<-ended
		}
	}
}
