package command

// briefPlacesMax is how many elements a brief command may ask for.
const briefPlacesMax = 128

// BriefPlaces reports whether the second and third argument bound a few places, counted from the
// same end. The arguments behind them may only reverse the elements or ask for more of each
// element.
func BriefPlaces(args [][]byte) bool {
	if len(args) < 4 {
		return false
	}
	for _, arg := range args[4:] {
		if !EqualFold(arg, "withscores") && !EqualFold(arg, "rev") {
			return false
		}
	}
	first, ok := ParseInt(args[2])
	last, ok2 := ParseInt(args[3])
	return ok && ok2 && (first < 0) == (last < 0) && first <= last && last-first < briefPlacesMax
}

// BriefAlways is for commands that Redis does not call fast, because its lists are slow to walk.
func BriefAlways([][]byte) bool { return true }
