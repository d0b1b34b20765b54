package admin

import (
	"strings"

	"lockstep/engine/command"
	"lockstep/proto/client"
)

// The picture of LOLWUT is an elementary cellular automaton: each row follows only
// from the one above it, so the picture is the same wherever it is drawn. Replicas
// work the same way.
const (
	pictureColumns    = 64
	pictureRows       = 32
	pictureColumnsMax = 1000
	pictureRowsMax    = 512
	// pictureRule gives the successor of three neighbours: the bit at the position that they form
	// as a binary number.
	pictureRule = 30
)

// pictureSizes is how many numbers may follow the version of a picture.
var pictureSizes = map[int64]int{5: 3, 6: 2}

// lolwut is LOLWUT [VERSION n [columns [rows]]]. As in Redis, the arguments after
// the versions 5 and 6 must be numbers, and all other arguments are ignored.
func lolwut(r *client.Request, args [][]byte) {
	size := [3]int64{pictureColumns, pictureRows}
	if len(args) > 2 && fold(args[1]) == "version" {
		version, ok := integer(r, args[2], command.ErrNotInteger)
		if !ok {
			return
		}
		for i, arg := range args[3:] {
			if i >= pictureSizes[version] {
				break
			}
			if size[i], ok = integer(r, arg, command.ErrNotInteger); !ok {
				return
			}
		}
	}
	columns := min(max(size[0], 1), pictureColumnsMax)
	rows := min(max(size[1], 1), pictureRowsMax)
	r.Out.Verbatim("txt", picture(int(columns), int(rows))+
		"\nEvery row follows from the one above it, on every machine alike.\nRedis ver. "+r.Settings().RedisVersion+"\n")
}

// picture draws rows of cells, two rows per line of text.
func picture(columns, rows int) string {
	var b strings.Builder
	upper := make([]uint8, columns)
	upper[columns/2] = 1
	for ; rows > 0; rows -= 2 {
		lower := make([]uint8, columns)
		if rows > 1 {
			lower = successor(upper)
		}
		for i := range upper {
			b.WriteString([]string{" ", "▀", "▄", "█"}[upper[i]|lower[i]<<1])
		}
		b.WriteByte('\n')
		upper = successor(lower)
	}
	return b.String()
}

// successor is the row below a row. The two ends of a row count as neighbours.
func successor(row []uint8) []uint8 {
	n := len(row)
	next := make([]uint8, n)
	for i := range row {
		neighbours := row[(i+n-1)%n]<<2 | row[i]<<1 | row[(i+1)%n]
		next[i] = pictureRule >> neighbours & 1
	}
	return next
}
