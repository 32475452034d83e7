// SPDX-License-Identifier: Apache-2.0

// Package licences collects the licences of what is linked into Go programs, for packages and
// images.
package licences

import (
	"cmp"
	"debug/buildinfo"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// own is the prefix of this project's modules, whose licence the packages have anyway.
const own = "github.com/metax-ctk/container-toolkit"

// linked is a module that is linked, or the standard library.
type linked struct{ name, version, dir string }

// Text returns the licences and notices of all modules that are linked into programs, each
// text once, with the modules that it is of. It reads them from the module cache and GOROOT of
// the go command in PATH, and fails if one is missing. The same programs give the same bytes.
func Text(programs ...string) ([]byte, error) {
	modules, err := modulesOf(programs)
	if err != nil {
		return nil, err
	}
	of := map[string][]string{} // by text
	for _, m := range modules {
		found := false
		err := filepath.WalkDir(m.dir, func(path string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case entry.IsDir() && path != m.dir && isUnlinkedDir(entry.Name(), m):
				return filepath.SkipDir
			case !entry.Type().IsRegular() || !isLicence(entry.Name()):
				return nil
			}
			text, err := os.ReadFile(path) //nolint:gosec // G304: a file of a linked module, in the module cache
			if err != nil {
				return err
			}
			where, err := filepath.Rel(m.dir, path)
			found = found || filepath.Dir(where) == "."
			key := strings.TrimSpace(strings.ReplaceAll(string(text), "\r\n", "\n"))
			of[key] = append(of[key], fmt.Sprintf("%s %s (%s)", m.name, m.version, filepath.ToSlash(where)))
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("read the licence of %s %s: %w", m.name, m.version, err)
		}
		if !found {
			return nil, fmt.Errorf("read the licence of %s %s: %s has none", m.name, m.version, m.dir)
		}
	}
	var out strings.Builder
	out.WriteString("The programs link the Go modules below, under these licences.\n" +
		"The source of MODULE VERSION is at https://proxy.golang.org/MODULE/@v/VERSION.zip.\n")
	texts := make([]string, 0, len(of))
	for text, names := range of {
		slices.Sort(names)
		texts = append(texts, text)
	}
	slices.SortFunc(texts, func(a, b string) int { return cmp.Or(cmp.Compare(of[a][0], of[b][0]), cmp.Compare(a, b)) })
	for _, text := range texts {
		fmt.Fprintf(&out, "\n%s\n%s\n\n%s\n", strings.Repeat("=", 80), strings.Join(of[text], "\n"), text)
	}
	return []byte(out.String()), nil
}

var licenceFile = regexp.MustCompile(`(?i)^(un)?(licen[cs]e|copying|notice|patents|copyright)([._-].*)?$`)

func isLicence(file string) bool { return licenceFile.MatchString(file) && filepath.Ext(file) != ".go" }

// isUnlinkedDir reports whether nothing of a directory is linked. The standard library has the
// sources of the go command beside it.
func isUnlinkedDir(dir string, m linked) bool {
	return dir == "testdata" || strings.HasPrefix(dir, "_") || strings.HasPrefix(dir, ".") || m.name == standard
}

const standard = "Go standard library"

// modulesOf returns the modules of programs, each once, by name and version.
func modulesOf(programs []string) ([]linked, error) {
	text, err := exec.Command("go", "env", "GOMODCACHE", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("find the module cache: %w", err)
	}
	cache, root, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	var all []linked
	for _, program := range programs {
		info, err := buildinfo.ReadFile(program)
		if err != nil {
			return nil, err
		}
		all = append(all, linked{standard, info.GoVersion, root})
		for _, m := range info.Deps {
			if m.Path == own || strings.HasPrefix(m.Path, own+"/") {
				continue
			}
			if m.Replace != nil {
				m = m.Replace
			}
			all = append(all, linked{m.Path, m.Version, filepath.Join(cache, cacheName(m.Path)+"@"+cacheName(m.Version))})
		}
	}
	slices.SortFunc(all, func(a, b linked) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.version, b.version))
	})
	return slices.Compact(all), nil
}

// cacheName writes a path or version as the module cache does: capitals as small letters
// behind an exclamation mark.
func cacheName(text string) string {
	var out strings.Builder
	for _, r := range text {
		if 'A' <= r && r <= 'Z' {
			out.WriteByte('!')
			r += 'a' - 'A'
		}
		out.WriteRune(r)
	}
	return out.String()
}
