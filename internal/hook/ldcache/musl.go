// SPDX-License-Identifier: Apache-2.0

package ldcache

import (
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/hook/inroot"
)

// maxPaths is the largest search path that is changed, in bytes.
const maxPaths = 64 << 10

// muslPath is musl's search path if there is no file.
const muslPath = "/lib:/usr/local/lib:/usr/lib"

// extendMuslPath appends folders to a search path of musl. They come last because all
// programs of the container use the path and must find their own libraries first. A
// path that cannot be read stays as it is, with a warning.
func extendMuslPath(root *inroot.Root, name string, folders []string, warn func(string)) error {
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
	return writeFile(root.OneMount(), name, []byte(text+strings.Join(list, "\n")+"\n"))
}
