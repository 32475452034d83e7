// SPDX-License-Identifier: Apache-2.0

// Package node loads the node that a command is about: this host, a host tree below
// --root, a built-in simulated node, or a file. metax-ctk and metax-docker share it, so
// that both see the same node.
package node

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/metax-ctk/container-toolkit/internal/atomicfile"
	"github.com/metax-ctk/container-toolkit/internal/discover"
	"github.com/metax-ctk/container-toolkit/internal/discover/mxsmi"
	"github.com/metax-ctk/container-toolkit/internal/discover/mxsml"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/sim"
	"github.com/metax-ctk/container-toolkit/internal/snapshot"
	"github.com/metax-ctk/container-toolkit/internal/terminal"
	"github.com/metax-ctk/container-toolkit/internal/wording"
)

// Host is the WHERE for this machine, or for the tree below the root.
const Host = "host"

// Input is the WHERE for a file on standard input.
const Input = "-"

// RecordPath is where cdi generate writes the Node that it found, for users who may not
// run the vendor's tool. It keeps what only mx-smi knows until the next boot.
const RecordPath = "/run/metax-container-toolkit/node.json"

// ErrUnknown reports a WHERE that is not a node.
var ErrUnknown = errors.New("no such node")

// rootError reports a node and a root, of which one was meant. It is an ErrUnknown.
type rootError struct{ node, root string }

func (e rootError) Error() string {
	return fmt.Sprintf(
		"the node %q (--node, METAX_CTK_NODE) and the root %q (--root, METAX_CTK_ROOT) exclude one another: only the node %q has a root; leave one out", e.node, e.root, Host)
}

func (e rootError) Is(target error) bool { return target == ErrUnknown }

// Selector names a node, the WHERE of --node, and how to query it.
type Selector struct {
	Node string // Host, a built-in node, "sim:AxBxC", a file, or Input
	Root string // directory that stands for the host's "/"
	// Library runs metax-mxsml, which asks the vendor's library; nil if it must not run
	// or does not exist.
	Library mxsml.Run
	// Run runs the vendor's mx-smi; nil if it must not run. Discovery then uses the
	// recorded Node.
	Run mxsmi.Run
	// Recorded is used where the host has no record; may be nil.
	Recorded *gpu.Node
	// Surroundings is true if the network cards and the processors near the GPUs are
	// wanted too; a node that is not discovered has them in any case.
	Surroundings bool
	// NoLinks is true if nothing is chosen by links.
	NoLinks bool
	// In is the standard input for Input; nil if there is none.
	In io.Reader
}

// IsHost reports whether the node's devices are on this machine.
func (s Selector) IsHost() bool { return s.Node == "" || s.Node == Host }

// Load returns the node.
func (s Selector) Load(ctx context.Context) (gpu.Node, error) {
	if s.IsHost() {
		return s.discoverHost(ctx)
	}
	if s.Root != "" && s.Root != "/" {
		return gpu.Node{}, rootError{s.Node, s.Root}
	}
	node, err := sim.Node(s.Node)
	if err == nil {
		return node, nil
	}
	data, fileErr := s.readNodeFile()
	switch {
	case errors.Is(fileErr, fs.ErrNotExist) && errors.Is(err, sim.ErrUnknown):
		meant := wording.Meant(s.Node, append(sim.Names(), Host)...)
		return gpu.Node{},
			fmt.Errorf("%w %q: neither a simulated node (metax-ctk sim list) nor a file%s", ErrUnknown, s.Node, meant)
	case errors.Is(fileErr, fs.ErrNotExist):
		return gpu.Node{}, fmt.Errorf("%w: %w", ErrUnknown, err)
	case fileErr != nil:
		return gpu.Node{}, fmt.Errorf("read node file: %w", fileErr)
	}
	if snapshot.Is(data) {
		node, err = s.replaySnapshot(ctx, data)
	} else {
		node, err = decodeFile(data)
	}
	if err != nil {
		return gpu.Node{}, fmt.Errorf("read node file %s: %w", s.Node, err)
	}
	return node, nil
}

// readNodeFile returns the content of the node's file. It keeps standard input, so that it can
// be read again.
func (s *Selector) readNodeFile() ([]byte, error) {
	if s.Node != Input {
		return readFile(s.Node)
	}
	if s.In == nil {
		return nil, fmt.Errorf("%q: there is no standard input here", Input)
	}
	if again, ok := s.In.(*bytes.Reader); ok { // of an earlier read
		if _, err := again.Seek(0, io.SeekStart); err != nil {
			return nil, err
		}
	}
	data, err := io.ReadAll(io.LimitReader(s.In, hostfs.MaxFile+1))
	if err == nil && len(data) > hostfs.MaxFile {
		err = fmt.Errorf("standard input has more than %d bytes", hostfs.MaxFile)
	}
	if err == nil {
		s.In = bytes.NewReader(data)
	}
	return data, err
}

// Sources is Load for a host, and says where the facts come from.
func (s Selector) Sources(ctx context.Context) (node gpu.Node, sources discover.Sources, err error) {
	if !s.IsHost() {
		return node, sources,
			fmt.Errorf("%w with sources: all that is known of %q is in it; leave out --node", ErrUnknown, s.Node)
	}
	host, recordErr, err := s.host()
	if err == nil {
		node, sources, err = host.DiscoverSources(ctx)
	}
	if recordErr == nil && err == nil {
		sources.At[discover.SourceRecord] = RecordPath
	}
	return node, sources, noGPU(err)
}

// host is this machine or the tree below the root. recordErr is why there is no record.
func (s Selector) host() (host discover.Host, recordErr, err error) {
	root, err := hostfs.New(s.Root)
	if err != nil {
		return host, nil, err
	}
	host = discover.Host{Root: root, Library: s.Library, Run: s.Run, Surroundings: s.Surroundings, NoLinks: s.NoLinks}
	record, recordErr := readRecord(root)
	if recordErr != nil && s.Recorded != nil {
		record, recordErr = recorded{Node: *s.Recorded}, nil
	}
	if recordErr == nil {
		host.Recorded, host.Inactive = &record.Node, record.Inactive
	}
	return host, recordErr, nil
}

// noGPU is the error of a discovery, with what to try on a host without a GPU.
func noGPU(err error) error {
	if errors.Is(err, discover.ErrNoGPU) {
		err = fmt.Errorf("%w. To try without one: metax-ctk --node c500-8 topology print", err)
	}
	return err
}

func (s Selector) discoverHost(ctx context.Context) (gpu.Node, error) {
	host, recordErr, err := s.host()
	if err != nil {
		return gpu.Node{}, err
	}
	node, err := host.Discover(ctx)
	if err != nil || s.Run != nil || recordErr == nil {
		return node, noGPU(err)
	}
	if !errors.Is(recordErr, fs.ErrNotExist) {
		node.Warnings = append(node.Warnings,
			fmt.Sprintf("the recorded node cannot be used: %v; write it again: sudo metax-ctk cdi generate", recordErr))
	}
	return node, nil
}

// recorded is the content of RecordPath: a Node, and what only the next look needs.
type recorded struct {
	gpu.Node
	// Inactive are the GPUs that are unhealthy by the word of the driver's own files.
	Inactive []gpu.BDF `json:"inactive,omitempty"`
}

func readRecord(root *hostfs.Root) (r recorded, err error) {
	text, err := root.ReadFile(RecordPath)
	if err != nil {
		return r, err
	}
	if err = json.Unmarshal(text, &r); err != nil {
		err = fmt.Errorf("read node JSON: %w", err)
	} else {
		r.Node, err = r.Decoded()
	}
	if err != nil {
		return recorded{}, fmt.Errorf("%s: %w", root.Join(RecordPath), err)
	}
	return r, nil
}

// Record writes the node of a host to its RecordPath.
func Record(host *hostfs.Root, n gpu.Node) error {
	text, err := json.MarshalIndent(recorded{n, discover.Inactive(host, n)}, "", "  ")
	if err != nil {
		return err
	}
	path, err := host.Place(RecordPath)
	if err != nil {
		return err
	}
	_, err = atomicfile.Write(path, terminal.JSON(append(text, '\n')), atomicfile.Options{Perm: 0o644})
	return err
}

func decodeFile(data []byte) (gpu.Node, error) {
	if bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte("{")) {
		return gpu.DecodeNode(data)
	}
	return mxsmi.NodeFromMatrix(string(data))
}

func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > hostfs.MaxFile {
		return nil, fmt.Errorf("%s is not a regular file of at most %d bytes", path, hostfs.MaxFile)
	}
	//nolint:gosec // G304: the user names the file with --node, and reads it with their own rights
	return os.ReadFile(path)
}
