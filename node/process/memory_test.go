//go:build !race

// The race detector would touch the shadow memory of the whole ballast.

package process

import (
	"runtime"
	"testing"
)

func TestTheCollectorsRoomIsAFixedAmountAndAPart(t *testing.T) {
	resident := ResidentBytes()
	PaceMemory()
	for _, live := range []int64{0, 100 << 20} {
		data := make([]byte, live)
		clear(data)
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		// The runtime counts stacks and globals too: some megabytes at most.
		room := int64(m.NextGC) - ballastBytes - live
		if want := int64(gcRoomBytes) + live*gcRoomPercent/100; room < want || room > want+16<<20 {
			t.Errorf("with %d MB alive the collector waits for %d MB more, want %d", live>>20, room>>20, want>>20)
		}
		if alive := Numbers(Live)[0]; alive < live || alive > live+16<<20 {
			t.Errorf("%d MB are told of as alive, want %d", alive>>20, live>>20)
		}
		runtime.KeepAlive(data)
	}
	if grown := ResidentBytes() - resident; grown > 200<<20 {
		t.Errorf("the ballast is there in earnest: %d MB more", grown>>20)
	}
}
