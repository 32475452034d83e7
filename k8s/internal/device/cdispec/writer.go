// SPDX-License-Identifier: Apache-2.0

package cdispec

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/atomicfile"
	"github.com/metax-ctk/container-toolkit/internal/cdi"
	"github.com/metax-ctk/container-toolkit/internal/discover/mxsmi"
	"github.com/metax-ctk/container-toolkit/internal/discover/mxsml"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/node"
	"github.com/metax-ctk/container-toolkit/internal/refresh"
	"github.com/metax-ctk/container-toolkit/internal/terminal"
)

// Writer writes the specs.
type Writer struct {
	// Host is where discovery finds the node, and To where the specs, the record and Dir are.
	Host, To *hostfs.Root
	// EngineRoot is the directory below which the engine finds the node's files; "/" for most.
	EngineRoot string
	// Dir is a directory of the host that outlives a reboot. Its path is the same on the host
	// and below To.
	Dir string
	// Hook is the metax-hook of this image.
	Hook    string
	Settle  time.Duration // how long to wait for a node that is still coming up
	Library mxsml.Run
	Tool    mxsmi.Run
	Warn    func(lines ...string)
}

const (
	hookName   = "metax-hook"
	recordName = "node.json"
	// ownHook is where the package of the node tool installs metax-hook.
	ownHook = "/usr/bin/" + hookName
	control = "/dev/mxcd"
)

// ErrNoUUID reports a node whose GPUs have no known UUIDs, by which the plugin names them.
var ErrNoUUID = errors.New("the UUIDs of the GPUs are not known: neither libmxsml nor mx-smi answers")

// Write writes the specs, unless they are up to date. It fails with discover.ErrNoGPU for a
// node without a GPU, and with ErrNoUUID or refresh.ErrNoDriver for one whose driver or whose
// vendor's software is not there yet; then the specs of before stay. A GPU without device
// nodes is left out.
func (w Writer) Write(ctx context.Context) (refresh.Generation, error) {
	var last gpu.Node
	find := func() (n gpu.Node, err error) {
		n, err = w.find(ctx)
		last = n
		return n, err
	}
	hook, err := w.hook()
	if err != nil {
		return refresh.Generation{}, err
	}
	done, err := w.job(hook, find).Run(ctx)
	if err != nil {
		return done, err
	}
	return done, w.record(last)
}

// WriteSoftware writes the spec of the host's MXMACA alone, and removes it if there is none.
func (w Writer) WriteSoftware(ctx context.Context) ([]refresh.Written, error) {
	hook, err := w.hook()
	if err != nil {
		return nil, err
	}
	return w.job(hook, nil).Software(ctx)
}

func (w Writer) job(hook string, find func() (gpu.Node, error)) refresh.Job {
	return refresh.Job{
		Maker: refresh.Maker{Selector: w.selector(), Host: w.Host, Node: find, Hook: hook, Warn: w.Warn},
		Options: cdi.Options{
			Vendor: cdi.DefaultVendor, Class: cdi.DefaultClass, EngineRoot: w.EngineRoot,
			Partial: true, // one broken GPU must not keep the others from pods
		},
		Format: cdi.JSON, All: true, Settle: w.Settle, To: w.To,
	}
}

// selector chooses the host, with what was recorded before the last reboot.
func (w Writer) selector() node.Selector {
	s := node.Selector{Node: node.Host, Root: w.Host.Dir(), Library: w.Library, Run: w.Tool}
	if text, err := w.To.ReadFile(path.Join(w.Dir, recordName)); err == nil {
		if n, err := gpu.DecodeNode(text); err == nil {
			s.Recorded = &n
		}
	}
	return s
}

// find discovers the node, and fails for one that is not ready.
func (w Writer) find(ctx context.Context) (gpu.Node, error) {
	n, err := w.selector().Load(ctx)
	switch {
	case err != nil:
		return n, err
	case n.Shared == nil || !slices.Contains(n.Shared.Nodes, control):
		return n, fmt.Errorf("%w: %s is missing", refresh.ErrNoDriver, control)
	case !slices.ContainsFunc(n.GPUs, func(g gpu.GPU) bool { return g.UUID != "" }):
		return n, w.noUUID(n)
	}
	w.Warn(n.Warnings...)
	return n, nil
}

// noUUID says where the vendor's software was looked for, and why what is there does not
// answer.
func (w Writer) noUUID(n gpu.Node) error {
	var tried []string
	for _, p := range slices.Concat(mxsml.Paths(), mxsmi.Paths()) {
		tried = append(tried, w.Host.Join(p))
	}
	text := "tried " + strings.Join(tried, ", ")
	if len(n.Warnings) > 0 {
		text += ": " + strings.Join(n.Warnings, "; ")
	}
	return fmt.Errorf("%w (%s)", ErrNoUUID, terminal.Line(text))
}

// hook returns the path at which the engine finds metax-hook: that of the node tool, or of a
// copy of this image's.
func (w Writer) hook() (string, error) {
	if w.Host.Exists(ownHook) {
		return ownHook, nil
	}
	program, err := os.ReadFile(w.Hook)
	if err != nil {
		return "", fmt.Errorf("copy %s to the host: %w", hookName, err)
	}
	name := path.Join(w.Dir, hookName)
	return name, w.write(name, program, 0o755)
}

// record keeps the node for the time after a reboot.
func (w Writer) record(n gpu.Node) error {
	text, err := json.MarshalIndent(n, "", "  ")
	if err != nil {
		return err
	}
	return w.write(path.Join(w.Dir, recordName), terminal.JSON(append(text, '\n')), 0o644)
}

func (w Writer) write(name string, content []byte, perm os.FileMode) error {
	place, err := w.To.Place(name)
	if err == nil {
		_, err = atomicfile.Write(place, content, atomicfile.Options{Perm: perm})
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}
