package svg

// The colours of the background, its edge and text.
const (
	Paper = "#f5f7fa"
	Edge  = "#d3dae4" // of the background
	Ink   = "#16202e"
	Soft  = "#52607a" // for less important text
)

// The colours that distinguish lines, each dark enough on Paper and on white. No meaning may
// be shown by them alone.
const (
	Indigo = "#4f46e5"
	Teal   = "#0f8a8a"
	Amber  = "#b45309"
	Rose   = "#be1868"
	Blue   = "#0a6ebd"
	Olive  = "#5f7a12"
	Violet = "#8b34c9"
	Brown  = "#9a4a3a"
)

// The fonts; the viewer uses the first that it has.
const (
	sans = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif"
	Mono = "ui-monospace, 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace"
)
