package containerd

import (
	"bytes"
	"cmp"
	"errors"
	"path"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/engine"
)

// Where containerd and this package put things unless told otherwise. The drop-in's
// name sorts behind any that begins with a digit or a lesser letter, such as
// 99-nvidia.toml: before containerd 2.0 only the last file's table counts.
const (
	DefaultPath   = "/etc/containerd/config.toml"
	DefaultDropIn = "/etc/containerd/conf.d/zz-metax.toml"
)

// Layout is how a containerd comes by its configuration.
type Layout uint8

// The layouts.
const (
	// DropIns: the main file can import our drop-in.
	DropIns Layout = iota
	// Merged: the distribution itself reads the drop-in's directory, merges it into
	// what it generates, and the main file is not to be edited (k0s).
	Merged
	// InPlace: the main file is edited itself; others cannot be imported, or would
	// not see what the distribution fills in (MicroK8s).
	InPlace
	// Template: the main file is a Go template of the k3s kind, and no TOML.
	Template
)

// File is a configuration file as it was read.
type File struct {
	Path string
	Text []byte
}

// Input is what the configuration of one containerd is worked out from.
type Input struct {
	// Path is the main file's, "" for DefaultPath; Main is nil if there is none.
	Path string
	Main []byte
	// DropInPath is the place of our own file, "" for DefaultDropIn.
	DropInPath string
	DropIn     []byte
	// Imported are the files that main and its imports may import, and those beside
	// our drop-in, in any order; which of them count, and in which order, is worked
	// out here.
	Imported []File
	// Dump is what `containerd config dump` printed for these files, nil if it could
	// not be had. See Configure.
	Dump    []byte
	Version engine.Version
	// Original is the main file before the toolkit first changed it, nil if there was
	// none, and only known with HasOriginal.
	Original    []byte
	HasOriginal bool
	Layout      Layout
}

// The errors of a configuration that cannot be set up as it is.
var (
	// ErrVersion reports a file of version 1 with CRI settings under containerd 2.0
	// to 2.2, which do not see them.
	ErrVersion = errors.New("containerd 2.0 to 2.2 do not read the CRI settings of a version 1 file: let `containerd config migrate` rewrite it first")
	// ErrNewer reports a file of a version that this containerd does not know; 1.6
	// would pass over its plugins without a word.
	ErrNewer = errors.New("this containerd does not know its version")
	// ErrOverridden reports a file that sets the same things otherwise and is read
	// after ours.
	ErrOverridden = errors.New("it is read after the toolkit's settings and overrides them: have it imported before")
	// ErrByHand reports a setting that the distribution has another place for.
	ErrByHand = errors.New("cannot be set in this template")
)

func (in Input) path() string { return cmp.Or(in.Path, DefaultPath) }

func (in Input) dropInPath() string { return cmp.Or(in.DropInPath, DefaultDropIn) }

// patterns are what main can import for our drop-in: its directory, as containerd's
// own default has it and other vendors' tools look for it, and our file alone. Both
// may match nothing; the path of a file that is gone would keep containerd from
// starting.
func (in Input) patterns() (wide, narrow string) {
	p := in.dropInPath()
	return path.Join(path.Dir(p), "*.toml"), strings.TrimSuffix(p, ".toml") + "*.toml"
}

// ours reports whether a text is a file of the toolkit alone.
func ours(text []byte) bool {
	return bytes.HasPrefix(text, []byte("# "+engine.Marker))
}
