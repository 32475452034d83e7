// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/toml"
)

// Marker begins the first line, a comment, of every file that only the toolkit writes.
const Marker = "Written by metax-ctk runtime configure"

// ErrForeign reports a file at one of the toolkit's paths that the toolkit did not
// write.
var ErrForeign = errors.New("not written by metax-ctk")

// Setup is how to set up an engine.
type Setup struct {
	// Name is the runtime's name in the engine, "metax".
	Name string
	// Runtime and Hook are the absolute paths of metax-runtime and metax-hook as the
	// engine finds them. An empty Runtime means that none is to be registered.
	Runtime, Hook string
	// Default makes the runtime that of containers that name none.
	Default bool
	// CDI switches the engine's CDI on where it is off.
	CDI bool
	// SpecDirs are the directories in which the engine is to look for CDI specs, in
	// ascending priority; nil keeps the engine's own.
	SpecDirs []string
}

// Switch is a boolean setting that a configuration may leave out.
type Switch uint8

// The positions of a Switch.
const (
	// Unset leaves the setting to the engine, whose version decides.
	Unset Switch = iota
	Off
	On
)

// State is what a configuration says about GPUs.
type State struct {
	// Runtimes are the paths of the OCI runtimes by their names in the engine. The path
	// is "" where the configuration has only the name.
	Runtimes map[string]string
	// Default is the name of the default runtime; "" if the engine decides.
	Default string
	// CDI is the engine's switch for CDI.
	CDI Switch
	// SpecDirs are the directories of CDI specs; nil if the engine decides.
	SpecDirs []string
	// Systemd is On if systemd manages the containers' cgroups.
	Systemd Switch
}

// Change is one configuration file before and after an edit.
type Change struct {
	Path string
	// Before and After are the contents; nil means that the file does not exist.
	Before, After []byte
	// Mode is for a new file; an existing one keeps its mode.
	Mode fs.FileMode
}

// Changed returns the Change of a file, or nothing if before and after are equal.
func Changed(path string, before, after []byte) []Change {
	if bytes.Equal(before, after) && (before == nil) == (after == nil) {
		return nil
	}
	return []Change{{Path: path, Before: before, After: after, Mode: 0o644}}
}

// SyntaxError reports a file that its engine could not parse as TOML or JSON.
type SyntaxError = toml.SyntaxError

// Position returns the line and column of an offset in a text, counted from 1; the
// column is in bytes.
func Position(text []byte, offset int) (line, column int) { return toml.Position(text, offset) }

// ParseTOML parses a TOML configuration. The error is a *SyntaxError. Deleting a
// setting from the document also deletes the toolkit's comments above it.
func ParseTOML(text []byte) (*toml.Document, error) {
	doc, err := toml.Parse(text)
	if err != nil {
		return nil, err
	}
	doc.Marker = Marker
	return doc, nil
}

// SetTree sets the values of a tree below a path of a document. It adds a missing table
// as a whole and does not touch values that are already right.
func SetTree(doc *toml.Document, tree map[string]any, path ...string) error {
	for _, key := range slices.Sorted(maps.Keys(tree)) {
		at := append(slices.Clone(path), key)
		old, there := doc.Get(at...)
		_, was := old.(map[string]any)
		sub, is := tree[key].(map[string]any)
		var err error
		switch {
		case was && is:
			err = SetTree(doc, sub, at...)
		case !there || toml.Literal(old) != toml.Literal(tree[key]):
			err = doc.Set(tree[key], at...)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
