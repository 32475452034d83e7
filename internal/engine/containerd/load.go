// SPDX-License-Identifier: Apache-2.0

package containerd

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/engine"
	"github.com/metax-ctk/container-toolkit/internal/toml"
)

// source is a parsed file that containerd reads.
type source struct {
	path    string
	doc     *toml.Document
	tree    map[string]any
	version int64 // containerd reads 0 as 1
}

// Imports returns the imports of the configuration file at a path, in order, as
// absolute paths and patterns of path.Match. The error is an *engine.SyntaxError or
// names the key that has the wrong type.
func Imports(text []byte, at string) ([]string, error) {
	s, err := parseConfig(File{Path: at, Text: text})
	if err != nil {
		return nil, err
	}
	return s.imports(engine.Version{})
}

func parseConfig(f File) (source, error) {
	doc, err := engine.ParseTOML(f.Text)
	if err != nil {
		return source{}, fmt.Errorf("parse %s: %w", f.Path, err)
	}
	s := source{path: f.Path, doc: doc, tree: doc.Tree()}
	if v, ok := s.tree["version"]; ok {
		if s.version, ok = v.(int64); !ok || s.version < 0 || s.version > 4 {
			return source{}, fmt.Errorf("parse %s: %w", f.Path,
				s.errorAt(fmt.Errorf("containerd has no configuration version %s", toml.Literal(v)), "version"))
		}
	}
	return s, nil
}

// errorAt is an error about a setting, with the setting's position.
func (s source) errorAt(err error, key ...string) error {
	line, column := s.doc.Position(key...)
	return &engine.SyntaxError{Line: line, Column: column, Err: err}
}

// imports returns the file's imports, resolved against its directory. containerd 1.6
// resolves patterns against the daemon's working directory instead.
func (s source) imports(v engine.Version) ([]string, error) {
	value, ok := s.tree["imports"]
	if !ok {
		return nil, nil
	}
	list, ok := stringList(value)
	if !ok {
		return nil, fmt.Errorf("parse %s: %w", s.path, s.errorAt(fmt.Errorf("imports is not a list of paths"), "imports"))
	}
	var out []string
	for _, p := range list {
		switch {
		case path.IsAbs(p):
			p = path.Clean(p)
		case v.Before(1, 7) && strings.Contains(p, "*"):
			p = path.Join("/", p)
		default:
			p = path.Join(path.Dir(s.path), p)
		}
		out = append(out, p)
	}
	return out, nil
}

// loadSources returns the files in the order in which containerd reads them; nothing
// without a main file.
func (in Input) loadSources() ([]source, error) {
	if in.Main == nil {
		return nil, nil
	}
	if in.Version.AtLeast(2, 0) && bytes.HasPrefix(in.Main, []byte("\xef\xbb\xbf")) {
		return nil, fmt.Errorf("parse %s: %w", in.configPath(), &engine.SyntaxError{
			Line: 1, Column: 1,
			Err: fmt.Errorf("the file begins with a byte order mark, which containerd %s does not accept", in.Version),
		})
	}
	files := slices.DeleteFunc(slices.Clone(in.Imported), func(f File) bool { return f.Path == in.dropInPath() })
	if in.DropIn != nil {
		files = append(files, File{in.dropInPath(), in.DropIn})
	}
	slices.SortStableFunc(files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })

	var out []source
	seen := map[string]bool{in.configPath(): true}
	for pending := []File{{in.configPath(), in.Main}}; len(pending) > 0; pending = pending[1:] {
		s, err := parseConfig(pending[0])
		if err != nil {
			return nil, err
		}
		out = append(out, s)
		imports, err := s.imports(in.Version)
		if err != nil {
			return nil, err
		}
		for _, pattern := range imports {
			for _, f := range files {
				if matchesImport(pattern, f.Path) && !seen[f.Path] {
					seen[f.Path] = true
					pending = append(pending, f)
				}
			}
		}
	}
	return out, nil
}

// mainSource is the main file alone, without its imports.
func (in Input) mainSource() (source, error) {
	in.Imported, in.DropIn = nil, nil
	sources, err := in.loadSources()
	if err != nil {
		return source{}, err
	}
	return sources[0], nil
}

// anyImports reports whether one of the files imports the path p.
func anyImports(sources []source, v engine.Version, p string) bool {
	return slices.ContainsFunc(sources, func(s source) bool {
		imports, _ := s.imports(v) // loadSources returned its error
		return slices.ContainsFunc(imports, func(pattern string) bool { return matchesImport(pattern, p) })
	})
}

// matchesImport reports whether an import names a path. As in containerd, only an asterisk
// makes a pattern.
func matchesImport(pattern, p string) bool {
	if !strings.Contains(pattern, "*") {
		return pattern == p
	}
	ok, err := path.Match(pattern, p)
	return ok && err == nil
}

func stringList(value any) ([]string, bool) {
	list, ok := value.([]any)
	var out []string
	for _, v := range list {
		s, is := v.(string)
		ok = ok && is
		out = append(out, s)
	}
	return out, ok
}
