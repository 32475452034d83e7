// SPDX-License-Identifier: Apache-2.0

package dropin

import (
	"bytes"
	"fmt"
	"path"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/engine"
	"github.com/metax-ctk/container-toolkit/internal/toml"
)

// Own is the file of a chain that belongs to the toolkit.
type Own struct {
	File
	// Engine is the engine's name, for the file's first line.
	Engine string
}

// Check fails with engine.ErrForeign if somebody else wrote the file.
func (o Own) Check() error {
	first, _, _ := bytes.Cut(bytes.TrimPrefix(o.Text, []byte("\xef\xbb\xbf")), []byte("\n"))
	if o.Text != nil && !bytes.HasPrefix(first, []byte("# "+engine.Marker)) {
		return fmt.Errorf("%s is %w: move it away if it is not needed", o.Path, engine.ErrForeign)
	}
	return nil
}

// Add returns the text of the file with the settings of a tree added. It does not
// change a file that has them already, and makes none for an empty tree.
func (o Own) Add(tree map[string]any) ([]byte, error) {
	if err := o.Check(); err != nil || len(tree) == 0 {
		return o.Text, err
	}
	if o.Text == nil {
		header := "# " + engine.Marker + "; metax-ctk runtime configure --engine " + o.Engine +
			" --remove\n# takes it away.\n\n"
		return append([]byte(header), toml.Render(tree)...), nil
	}
	doc, err := engine.ParseTOML(o.Text)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", o.Path, err)
	}
	if err := engine.SetTree(doc, tree); err != nil {
		return nil, fmt.Errorf("edit %s: %w", o.Path, err)
	}
	return doc.Bytes(), nil
}

// Remove returns the text of the file without the settings at some paths; nil if
// nothing is left. It does not change a file that somebody else wrote.
func (o Own) Remove(paths ...[]string) ([]byte, error) {
	if o.Text == nil || o.Check() != nil {
		return o.Text, nil
	}
	doc, err := engine.ParseTOML(o.Text)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", o.Path, err)
	}
	for _, keys := range paths {
		if _, ok := doc.Get(keys...); !ok {
			continue
		}
		// Tables that become empty go also.
		for n := len(keys); n > 0; n-- {
			if v, _ := doc.Get(keys[:n]...); n < len(keys) {
				if table, _ := v.(map[string]any); len(table) > 0 {
					break
				}
			}
			if err := doc.Delete(keys[:n]...); err != nil {
				return nil, fmt.Errorf("edit %s: %w", o.Path, err)
			}
		}
	}
	if hasNoSettings(doc.Tree()) {
		return nil, nil
	}
	return doc.Bytes(), nil
}

// hasNoSettings reports whether a tree has nothing but empty tables.
func hasNoSettings(tree map[string]any) bool {
	for _, v := range tree {
		if table, ok := v.(map[string]any); !ok || !hasNoSettings(table) {
			return false
		}
	}
	return true
}

// With returns the files with another text for the one at a path.
func With(files []File, name string, text []byte) []File {
	after := slices.Clone(files)
	for i := range after {
		if after[i].Path == name {
			after[i].Text = text
			return after
		}
	}
	return append(after, File{name, text})
}

// IsShim reports whether the path of a runtime is that of metax-runtime.
func IsShim(runtime string) bool { return path.Base(runtime) == "metax-runtime" }
