package geo

import "math"

// Shape is the area of a search: a circle or a box around a place. Lengths are in a unit of Unit
// metres.
type Shape struct {
	Center Point
	Unit   float64
	// Box is set if Width and Height count, and not Radius.
	Box                   bool
	Radius, Width, Height float64
}

// Contains reports whether a place lies in the shape, and its distance from the
// center in metres.
func (s *Shape) Contains(p Point) (distance float64, ok bool) {
	if !s.Box {
		distance = Distance(s.Center, p)
		return distance, !(distance > s.Radius*s.Unit)
	}
	if latitudeDistance(p.Latitude, s.Center.Latitude) > s.Height*s.Unit/2 {
		return 0, false
	}
	if Distance(p, Point{s.Center.Longitude, p.Latitude}) > s.Width*s.Unit/2 {
		return 0, false
	}
	return Distance(s.Center, p), true
}

// bounds is the box around the shape. It may extend beyond the grid.
func (s *Shape) bounds() box {
	height, width := s.Radius, s.Radius
	if s.Box {
		height, width = s.Height/2, s.Width/2
	}
	height *= s.Unit
	width *= s.Unit
	at := s.Center
	dy := degrees(height / earthRadius)
	// The shape is widest at its latitude that is nearer to the pole.
	widest := at.Latitude + dy
	if at.Latitude < 0 {
		widest = at.Latitude - dy
	}
	dx := degrees(width / earthRadius / cos(radians(widest)))
	return box{at.Longitude - dx, at.Latitude - dy, at.Longitude + dx, at.Latitude + dy}
}

// Cells returns cells that contain the shape: that of the center, and those of its eight neighbours
// that are needed.
func (s *Shape) Cells() []Cell {
	radius := s.Radius
	if s.Box {
		w, h := s.Width/2, s.Height/2
		radius = math.Sqrt(float64(w*w) + float64(h*h))
	}
	steps := stepsFor(radius*s.Unit, s.Center.Latitude)
	if steps == 1 {
		return neighbours(Of(s.Center, 1), [3]bool{true, true, true}, [3]bool{true, true, true})
	}
	center, b := Of(s.Center, steps), s.bounds()
	if center.moved(0, 1).box().north < b.north || center.moved(0, -1).box().south > b.south ||
		center.moved(1, 0).box().east < b.east || center.moved(-1, 0).box().west > b.west {
		steps--
		center = Of(s.Center, steps)
	}
	all := [3]bool{true, true, true}
	if steps == 1 {
		return neighbours(center, all, all)
	}
	own := center.box()
	return neighbours(center,
		[3]bool{!(own.west < b.west), true, !(own.east > b.east)},
		[3]bool{!(own.south < b.south), true, !(own.north > b.north)})
}

// neighbours are a cell and the cells around it, in Redis's order. columns and rows select the
// directions, from west to east and from south to north. In a coarse grid two neighbours may be the
// same cell. A cell that equals the one before it is left out.
func neighbours(center Cell, columns, rows [3]bool) []Cell {
	cells := []Cell{center}
	for _, d := range [8][2]int{{0, 1}, {0, -1}, {1, 0}, {-1, 0}, {1, 1}, {-1, 1}, {1, -1}, {-1, -1}} {
		if !columns[1+d[0]] || !rows[1+d[1]] {
			continue
		}
		c := center.moved(d[0], d[1])
		if len(cells) == 1 || c != cells[len(cells)-1] {
			cells = append(cells, c)
		}
	}
	return cells
}
