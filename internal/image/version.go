package image

import "github.com/metax-ctk/container-toolkit/internal/compat"

const (
	// versionFile says "Version:3.3.0.15" in its first line.
	versionFile = "Version.txt"
	// maxVersionFile is in bytes; the vendor's has some dozen.
	maxVersionFile = 64 << 10
	// versionVariable is set in images of the vendor's, and overrides versionFile
	// for some of its programs.
	versionVariable = "MACA_AI_VERSION"
)

// agree reports whether two versions may be of one release: one of them may say
// less than the other.
func agree(a, b string) bool {
	x, err1 := compat.Parse(a)
	y, err2 := compat.Parse(b)
	if err1 != nil || err2 != nil {
		return a == b
	}
	return x.Begins(y) || y.Begins(x)
}
