package engine

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/toml"
)

// Marker begins the first line of a file that belongs to the toolkit alone, as a
// comment in the file's own syntax.
const Marker = "Written by metax-ctk runtime configure"

// ErrForeign reports a file at the place of one of ours that is somebody else's.
var ErrForeign = errors.New("not written by metax-ctk")

// Setup is how an engine is to be set up.
type Setup struct {
	// Name is what the runtime is called in the engine, "metax".
	Name string
	// Runtime and Hook are the absolute paths of metax-runtime and metax-hook as the
	// engine finds them. An empty Runtime means that none is to be registered.
	Runtime, Hook string
	// Default makes the runtime the one of containers that name none.
	Default bool
	// CDI switches the engine's CDI on where it is off.
	CDI bool
	// SpecDirs are the directories in which the engine is to look for CDI specs, in
	// ascending priority; nil leaves them to the engine.
	SpecDirs []string
}

// Switch is a setting that may not be there.
type Switch uint8

// The positions; at Unset the engine's version decides.
const (
	Unset Switch = iota
	Off
	On
)

// State is what a configuration says, as far as GPUs are concerned.
type State struct {
	// Runtimes are the paths of the OCI runtimes by their names in the engine; a
	// runtime without a path of its own has "".
	Runtimes map[string]string
	// Default is the name of the default runtime; "" leaves it to the engine.
	Default string
	// CDI is the engine's switch for CDI.
	CDI Switch
	// SpecDirs are the directories of CDI specs; nil leaves them to the engine.
	SpecDirs []string
	// Systemd is whether systemd manages the containers' cgroups.
	Systemd Switch
}

// Change is what becomes of one configuration file.
type Change struct {
	Path string
	// Before and After are the contents; nil means that there is no file.
	Before, After []byte
	// Mode is for a file that is made; one that is there keeps its own.
	Mode fs.FileMode
}

// Changed is what becomes of a file with the content before: none, or one Change.
func Changed(path string, before, after []byte) []Change {
	if bytes.Equal(before, after) && (before == nil) == (after == nil) {
		return nil
	}
	return []Change{{Path: path, Before: before, After: after, Mode: 0o644}}
}

// SyntaxError is a file that is not what its engine reads, TOML or JSON.
type SyntaxError = toml.SyntaxError

// Position returns line and column of an offset in a text, counted from 1; the
// column is in bytes.
func Position(text []byte, offset int) (line, column int) { return toml.Position(text, offset) }

// ParseTOML reads a TOML configuration. The error is a *SyntaxError. A setting that is
// deleted takes the toolkit's comments above it along.
func ParseTOML(text []byte) (*toml.Document, error) {
	doc, err := toml.Parse(text)
	if err != nil {
		return nil, err
	}
	doc.Marker = Marker
	return doc, nil
}

// SetTree puts the settings of a tree below a path into a document, a table that is
// not there as a whole, and leaves alone what is right already.
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
