// SPDX-License-Identifier: Apache-2.0

package containerd

import (
	"bytes"
	"cmp"
	"errors"
	"path"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/engine"
)

// Default paths of containerd's file and of our drop-in. The drop-in's name sorts after
// any that begins with a digit or a smaller letter, such as 99-nvidia.toml: before
// containerd 2.0 only the last file's table counts.
const (
	DefaultPath   = "/etc/containerd/config.toml"
	DefaultDropIn = "/etc/containerd/conf.d/zz-metax.toml"
)

// Layout is how an installation of containerd gets its configuration.
type Layout uint8

const (
	// DropIns means that the main file can import our drop-in.
	DropIns Layout = iota
	// Merged means that the distribution (k0s) reads the drop-in's directory and merges
	// it into the file that it generates; the main file must not be edited.
	Merged
	// Template means that the main file is a Go template, as in k3s, and not TOML.
	Template
)

// File is a configuration file as it was read.
type File struct {
	Path string
	Text []byte
}

// Input is what is known of one containerd before an edit.
type Input struct {
	// Path is the main file, "" for DefaultPath; Main is its content, nil if it does
	// not exist.
	Path string
	Main []byte
	// DropInPath is the path of our drop-in, "" for DefaultDropIn.
	DropInPath string
	DropIn     []byte
	// Imported are the files that main and its imports may import, and those beside our
	// drop-in, in any order. This package finds out which of them containerd reads, and
	// in which order.
	Imported []File
	// Dump is the output of `containerd config dump` for these files, nil if there is
	// none. See Configure.
	Dump    []byte
	Version engine.Version
	// Original is the main file before the toolkit first changed it, nil if it did not
	// exist. It is known only if HasOriginal.
	Original    []byte
	HasOriginal bool
	Layout      Layout
}

// The errors of a configuration that cannot be set up as it is.
var (
	// ErrVersion reports a file of version 1 with CRI settings under containerd 2.0 to 2.2,
	// which do not see them.
	ErrVersion = errors.New(
		"containerd 2.0 to 2.2 do not read the CRI settings of a version 1 file: let `containerd config migrate` rewrite it first")
	// ErrNewer reports a file of a version that this containerd cannot read; 1.6 would
	// silently ignore its plugins.
	ErrNewer = errors.New(
		"this containerd reads only older versions: upgrade containerd, or rewrite the file in a version that it reads")
	// ErrOverridden reports a file that is read after ours and sets the same keys to
	// other values.
	ErrOverridden = errors.New("this file is read after the toolkit's settings and overrides them: import it before them")
	// ErrByHand reports a setting that a template cannot contain, because the
	// distribution sets it elsewhere.
	ErrByHand = errors.New("cannot be set in this template")
)

func (in Input) configPath() string { return cmp.Or(in.Path, DefaultPath) }

func (in Input) dropInPath() string { return cmp.Or(in.DropInPath, DefaultDropIn) }

// importPatterns are the two patterns by which main can import our drop-in: its whole
// directory, which containerd's own default imports and other vendors' tools use, and
// our file alone. Both are patterns because a pattern may match nothing, while a path
// that does not exist keeps containerd from starting.
func (in Input) importPatterns() (wide, narrow string) {
	p := in.dropInPath()
	return path.Join(path.Dir(p), "*.toml"), strings.TrimSuffix(p, ".toml") + "*.toml"
}

// isOurs reports whether the toolkit wrote a file.
func isOurs(text []byte) bool {
	return bytes.HasPrefix(text, []byte("# "+engine.Marker))
}
