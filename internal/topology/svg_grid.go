package topology

func (s *scene) drawGrid(c *canvas, root *place) (width, bottom int) {
	return minWidth, header
}
