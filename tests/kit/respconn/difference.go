package respconn

import (
	"fmt"
	"strings"
)

// Difference shows two texts without most of the lines that are equal at the beginning and at the
// end. Lines of got are marked by -, lines of want by +.
func Difference(got, want string) string {
	const around = 3
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	from := 0
	for from < min(len(a), len(b)) && a[from] == b[from] {
		from++
	}
	same := 0
	for same < min(len(a), len(b))-from && a[len(a)-1-same] == b[len(b)-1-same] {
		same++
	}
	var out strings.Builder
	show := func(mark string, lines []string) {
		for _, line := range lines {
			fmt.Fprintf(&out, "%s %s\n", mark, line)
		}
	}
	show(" ", a[max(0, from-around):from])
	show("-", a[from:len(a)-same])
	show("+", b[from:len(b)-same])
	show(" ", a[len(a)-same:len(a)-same+min(around, same)])
	return out.String()
}
