package ldcache

import (
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/hook/inroot"
)

// maxPaths is the size in bytes beyond which a search path is left as it is.
const maxPaths = 64 << 10

// muslPath is where musl looks without a file that says otherwise.
const muslPath = "/lib:/usr/local/lib:/usr/lib"

// extend adds folders to a search path of musl's, behind what it has: all programs
// of the container go by it, and they are to find their own libraries first. What
// cannot be read stays as it is, with a warning.
func extend(root *inroot.Root, name string, folders []string, warn func(string)) error {
	data, err := root.ReadFile(name, maxPaths)
	if errors.Is(err, fs.ErrNotExist) {
		data = []byte(muslPath)
	} else if err != nil {
		warn(err.Error())
		return nil
	}
	text, _, _ := strings.Cut(string(data), "\x00") // as far as musl reads
	had := strings.FieldsFunc(text, func(r rune) bool { return r == ':' || r == '\n' })
	list := slices.DeleteFunc(slices.Clone(folders), func(folder string) bool {
		return strings.Contains(folder, ":") || slices.Contains(had, folder)
	})
	if len(list) == 0 {
		return nil
	}
	if text = strings.TrimRight(text, "\n"); text != "" {
		text += "\n"
	}
	return put(root.OneMount(), name, []byte(text+strings.Join(list, "\n")+"\n"))
}
