package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/sim"
	"github.com/metax-ctk/container-toolkit/internal/snapshot"
)

// The programs whose answers a snapshot replays for discovery.
const (
	SMI   = "mx-smi"
	MXSML = "metax-mxsml"
)

// The kinds of nodes that are in files; others have none.
const (
	Snapshot = "snapshot"
	File     = "file"
)

// Kind reports whether the node is in a file, and in which; empty is one that is not, or
// that cannot be read. It returns what In is from then on, as it may have been read.
func (w Where) Kind() (kind string, in io.Reader) {
	if _, err := sim.Node(w.Node); w.IsHost() || err == nil {
		return "", w.In
	}
	data, err := w.read()
	switch {
	case err != nil:
		return "", w.In
	case snapshot.Is(data):
		return Snapshot, w.In
	}
	return File, w.In
}

// Unpack returns a Where whose files are on this machine, if w's node has any: for a
// snapshot, it is that host as it was, below a temporary directory until done is
// called, and what its programs said. For another node it is w.
func (w Where) Unpack() (at Where, done func() error, err error) {
	nothing := func() error { return nil }
	if w.IsHost() {
		return w, nothing, nil
	}
	data, err := w.read()
	if err != nil || !snapshot.Is(data) {
		return w, nothing, nil // what it is, and what is wrong with it, is Load's to say
	}
	if at, done, err = unpack(data); err != nil {
		return Where{}, nil, fmt.Errorf("read node file %s: %w", w.Node, err)
	}
	return at, done, nil
}

func unpack(data []byte) (Where, func() error, error) {
	s, err := snapshot.Parse(data)
	if err != nil {
		return Where{}, nil, err
	}
	dir, remove, err := s.Unpack()
	if err != nil {
		return Where{}, nil, err
	}
	at := Where{Node: Host, Root: dir}
	at.Run = func(_ context.Context, path string, args ...string) ([]byte, error) {
		return s.Ask(append([]string{filepath.Base(path)}, args...)...)
	}
	if s.Asked(MXSML) {
		at.Library = func(_ context.Context, args ...string) ([]byte, error) {
			// The first argument is where the library is, which is elsewhere now.
			return s.Ask(append([]string{MXSML}, args[min(1, len(args)):]...)...)
		}
	}
	return at, remove, nil
}

// replay discovers the node of a snapshot.
func (w Where) replay(ctx context.Context, data []byte) (node gpu.Node, err error) {
	at, done, err := unpack(data)
	if err != nil {
		return gpu.Node{}, err
	}
	defer func() { err = errors.Join(err, done()) }()
	if node, err = at.discover(ctx); err != nil {
		return gpu.Node{}, elsewhere{snapshot.Unrooted(at.Root, err.Error()), err}
	}
	for i, warning := range node.Warnings {
		node.Warnings[i] = snapshot.Unrooted(at.Root, warning)
	}
	return node, nil
}

// elsewhere is an error in the words of the host that it is about.
type elsewhere struct {
	text string
	err  error
}

func (e elsewhere) Error() string { return e.text }

func (e elsewhere) Unwrap() error { return e.err }
