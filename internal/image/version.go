package image

import (
	"fmt"
	"strings"
)

const (
	// versionFile says "Version:3.3.0.15" in its first line.
	versionFile = "Version.txt"
	// maxVersionFile is in bytes; the vendor's has some dozen.
	maxVersionFile = 64 << 10
	// versionVariable is set in images of the vendor's, and overrides versionFile
	// for some of its programs.
	versionVariable = "MACA_AI_VERSION"
)

// parseVersionFile returns the text behind the last colon of the first line.
func parseVersionFile(text []byte) (string, error) {
	line, _, _ := strings.Cut(string(text), "\n")
	version := strings.TrimSpace(line[strings.LastIndexByte(line, ':')+1:])
	if !isVersion(version) {
		return "", fmt.Errorf("it begins with the line %.80q; want Version:<version>", line)
	}
	return version, nil
}

// isVersion tells what may be a version from what is surely none.
func isVersion(text string) bool {
	return text != "" && len(text) <= 64 && !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' })
}

// agree tells whether two versions may be of one release: one of them may say
// less than the other.
func agree(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	rest, ok := strings.CutPrefix(b, a)
	return ok && (rest == "" || strings.ContainsRune(".-+_", rune(rest[0])))
}
