// SPDX-License-Identifier: Apache-2.0

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

// The programs whose output a snapshot replays for discovery.
const (
	SMI   = "mx-smi"
	MXSML = "metax-mxsml"
)

// The kinds of nodes in files.
const (
	Snapshot = "snapshot"
	File     = "file"
)

// Kind returns the kind of file that the node is in; empty if it is not in a file, or
// the file cannot be read. It also returns the new value for In, because it may have
// read it.
func (s Selector) Kind() (kind string, in io.Reader) {
	if _, err := sim.Node(s.Node); s.IsHost() || err == nil {
		return "", s.In
	}
	data, err := s.readNodeFile()
	switch {
	case err != nil:
		return "", s.In
	case snapshot.Is(data):
		return Snapshot, s.In
	}
	return File, s.In
}

// Unpack returns a Selector whose files are on this machine. For a snapshot that is the
// captured host, below a temporary directory until done is called, with the recorded
// output of its programs. For any other node it is s.
func (s Selector) Unpack() (at Selector, done func() error, err error) {
	nothing := func() error { return nil }
	if s.IsHost() {
		return s, nothing, nil
	}
	data, err := s.readNodeFile()
	if err != nil || !snapshot.Is(data) {
		return s, nothing, nil // Load reports errors
	}
	if at, done, err = unpack(data); err != nil {
		return Selector{}, nil, fmt.Errorf("read node file %s: %w", s.Node, err)
	}
	return at, done, nil
}

func unpack(data []byte) (Selector, func() error, error) {
	s, err := snapshot.Parse(data)
	if err != nil {
		return Selector{}, nil, err
	}
	dir, remove, err := s.Unpack()
	if err != nil {
		return Selector{}, nil, err
	}
	at := Selector{Node: Host, Root: dir}
	at.Run = func(_ context.Context, path string, args ...string) ([]byte, error) {
		return s.Ask(append([]string{filepath.Base(path)}, args...)...)
	}
	if s.Asked(MXSML) {
		at.Library = func(_ context.Context, args ...string) ([]byte, error) {
			// The first argument is the path of the library, which differs now.
			return s.Ask(append([]string{MXSML}, args[min(1, len(args)):]...)...)
		}
	}
	return at, remove, nil
}

// replaySnapshot discovers the node of a snapshot.
func (s Selector) replaySnapshot(ctx context.Context, data []byte) (node gpu.Node, err error) {
	at, done, err := unpack(data)
	if err != nil {
		return gpu.Node{}, err
	}
	defer func() { err = errors.Join(err, done()) }()
	at.Surroundings = s.Surroundings
	if node, err = at.discoverHost(ctx); err != nil {
		return gpu.Node{}, unrootedError{snapshot.Unrooted(at.Root, err.Error()), err}
	}
	for i, warning := range node.Warnings {
		node.Warnings[i] = snapshot.Unrooted(at.Root, warning)
	}
	return node, nil
}

// unrootedError is an error with the paths of the snapshot's host instead of those of
// the temporary directory.
type unrootedError struct {
	text string
	err  error
}

func (e unrootedError) Error() string { return e.text }

func (e unrootedError) Unwrap() error { return e.err }
