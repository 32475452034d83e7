package svg

// The colours of what every picture has.
const (
	Paper = "#f5f7fa"
	Edge  = "#d3dae4" // of the paper
	Ink   = "#16202e"
	Soft  = "#52607a" // for words that matter less
)

// The colours that tell lines apart, each dark enough on paper and on white.
// Nothing may be told by them alone.
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

// The fonts, of which the viewer takes the first it has.
const (
	Sans = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif"
	Mono = "ui-monospace, 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace"
)
