package maca

import "strings"

// Link is a name for a library beside the one of its file.
type Link struct {
	Name   string // "libmcruntime.so.3"
	Target string // "/opt/maca/lib/libmcruntime.so.3.3.0"
}

// isLibrary tells a shared library by its name: "libx.so", "libx.so.1.2".
func isLibrary(name string) bool {
	return strings.HasSuffix(name, ".so") || strings.Contains(name, ".so.")
}

// isPlain tells a name that is safe as a word of a command line and as a file.
func isPlain(name string) bool {
	return name != "" && name[0] != '-' && name[0] != '.' && !strings.ContainsFunc(name, func(r rune) bool {
		return r <= ' ' || r > '~' || strings.ContainsRune("/:\\\"'", r)
	})
}
