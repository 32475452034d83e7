// SPDX-License-Identifier: Apache-2.0

// Package slicer makes and removes the slices of pods by the node tool's package sgpu, in a
// container that may run the vendor's software.
//
// It removes only slices that were made for pods. A GPU is switched to slice mode for its
// first slice and back after the last, so that a GPU without slices can be given whole.
package slicer

import (
	"context"
	"fmt"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/discover/mxsml"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/sgpu"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/allocate"
	"github.com/metax-ctk/container-toolkit/k8s/internal/reader"
)

// Slicer changes the slices of the node that Discover finds.
type Slicer struct {
	Discover func(context.Context) (gpu.Node, error)
	// Refresh returns a node with what the kernel shows of it now. It runs none of the vendor's
	// software, as Discover does: a scheduler waits until the slices are made.
	Refresh func(context.Context, gpu.Node) (gpu.Node, error)
	// Changer returns what changes slices on this host.
	Changer func() (sgpu.Changer, error)
}

// Change is a function of a reader.Host. A slice with the alias of a new one is removed
// before: it was that of a pod of the same name.
func (s Slicer) Change(ctx context.Context, c reader.Change) (gpu.Node, error) {
	changer, err := s.Changer()
	if err != nil {
		return gpu.Node{}, err
	}
	remove := slices.Clone(c.Remove)
	for _, r := range c.Make {
		if a := (reader.Alias{GPU: r.BDF, Alias: r.Alias}); !slices.Contains(remove, a) {
			remove = append(remove, a)
		}
	}
	n, err := s.Discover(ctx)
	if err != nil {
		return gpu.Node{}, err
	}
	for _, a := range remove {
		if err := removeSlice(ctx, changer, n, a); err != nil {
			return gpu.Node{}, err
		}
	}
	for _, r := range c.Make {
		if err := makeSlice(ctx, changer, n, r); err != nil {
			return gpu.Node{}, err
		}
	}
	for i, g := range n.GPUs {
		emptied := slices.ContainsFunc(c.Remove, func(a reader.Alias) bool { return a.GPU == g.BDF }) &&
			!slices.ContainsFunc(c.Make, func(r mxsml.SliceRequest) bool { return r.BDF == g.BDF })
		if emptied && g.Mode == gpu.ModeSGPU && !has(g) {
			if err := changer.Disable(ctx, g.BDF); err != nil {
				return gpu.Node{}, fmt.Errorf("switch GPU %d back from slice mode: %w", g.Index, err)
			}
			n.GPUs[i].Mode = ""
		}
	}
	return s.Refresh(ctx, n)
}

// has reports whether a GPU has slices.
func has(g gpu.GPU) bool {
	return slices.ContainsFunc(g.Slices, func(s gpu.Slice) bool { return s.Kind == gpu.SliceSGPU })
}

// removeSlice removes the slice of an alias, if there is one, also from the node.
func removeSlice(ctx context.Context, changer sgpu.Changer, n gpu.Node, a reader.Alias) error {
	for i, g := range n.GPUs {
		for _, s := range slices.Clone(g.Slices) {
			if g.BDF == a.GPU && s.Kind == gpu.SliceSGPU && s.Alias == a.Alias && allocate.IsOwn(s) {
				if err := changer.Remove(ctx, a.GPU, s); err != nil {
					return err
				}
				n.GPUs[i].Slices = slices.DeleteFunc(n.GPUs[i].Slices,
					func(left gpu.Slice) bool { return left.Kind == s.Kind && left.Index == s.Index })
			}
		}
	}
	return nil
}

// makeSlice makes a slice of a GPU, and adds it to the node.
func makeSlice(ctx context.Context, changer sgpu.Changer, n gpu.Node, r mxsml.SliceRequest) error {
	at := slices.IndexFunc(n.GPUs, func(g gpu.GPU) bool { return g.BDF == r.BDF })
	if at < 0 {
		return fmt.Errorf("there is no GPU %s", r.BDF)
	}
	g := &n.GPUs[at]
	if !allocate.IsOwn(gpu.Slice{Alias: r.Alias}) {
		return fmt.Errorf("alias %q is not one of a pod's slice", r.Alias)
	}
	order := sgpu.Order{SliceRequest: r, Count: 1, Enable: true}
	if err := order.Fits(*g); err != nil {
		return err
	}
	if g.Mode != gpu.ModeSGPU {
		if err := changer.Enable(ctx, r.BDF); err != nil {
			return fmt.Errorf("switch GPU %d to slice mode: %w", g.Index, err)
		}
		g.Mode = gpu.ModeSGPU
	}
	made, err := changer.Create(ctx, order)
	g.Slices = append(g.Slices, made...)
	return err
}
