// SPDX-License-Identifier: Apache-2.0

package assign

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/alloc"
	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/internal/discover"
	"github.com/metax-ctk/container-toolkit/internal/discover/mxsmi"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/lease"
)

// tooFewFree is the error for more GPUs than are free.
func tooFewFree(node gpu.Node, n int, free []int) error {
	return &lease.FullError{Want: n, Free: len(free), Of: len(node.Healthy())}
}

// withUnhealthy adds to an error about too few GPUs why the first unhealthy one does not
// count.
func withUnhealthy(node gpu.Node, err error) error {
	all := unhealthyGPUs(node)
	if len(all) == 0 {
		return err
	}
	more := ""
	if n := len(all) - 1; n > 0 {
		more = fmt.Sprintf(", and %d more", n)
	}
	return fmt.Errorf("%w; %s%s", err, whyUnhealthy(node, all[0]), more)
}

// allInUse is the error for a run that requests all GPUs while some are in use. Docker
// would give them to any number of containers.
func allInUse(full error, free []int) error {
	instead := "--gpus-share"
	if len(free) > 0 {
		instead = fmt.Sprintf("--gpus=%d or --gpus-share", len(free))
	}
	return fmt.Errorf("%w. Unlike docker, GPUs are not shared by default: %s", full, instead)
}

// noUsableGPU is the error for a node of which no GPU can be given as a whole.
func noUsableGPU(node gpu.Node) error {
	if why := discover.NotLoaded(node); why != "" {
		return unusableError("no usable GPU: " + why)
	}
	return withUnhealthy(node,
		unusableError("no usable GPU: all are unhealthy or divided into slices (metax-ctk device list)"))
}

// unusableError is an alloc.ErrUnmet with its own text.
type unusableError string

func (e unusableError) Error() string { return string(e) }

func (e unusableError) Is(target error) bool { return target == alloc.ErrUnmet }

// scopeError reports that the free GPUs lie too far apart; on a node without holders the
// request can be met.
type scopeError struct{ error }

func (e scopeError) Error() string {
	return e.error.Error() + "; metax-ctk ps shows who uses the others"
}

func (e scopeError) Unwrap() []error { return []error{e.error, lease.ErrBusy} }

// unmetNow is the error for a request that the free GPUs do not meet and all GPUs would.
func unmetNow(err error) error {
	if errors.Is(err, alloc.ErrUnmet) {
		return scopeError{err}
	}
	return err
}

// tooFew is the error for a count that the node cannot meet even with all GPUs free.
func tooFew(node gpu.Node, scope key.Scope, err error) error {
	var short *alloc.InsufficientError
	unknown := slices.IndexFunc(node.Warnings,
		func(line string) bool { return strings.HasPrefix(line, mxsmi.LinksUnknown) })
	switch {
	case errors.Is(err, alloc.ErrUnmet) && scope == key.Link && unknown >= 0 && !errors.As(err, &short):
		return fmt.Errorf("scope link: MetaXLink topology unknown%s",
			strings.TrimPrefix(node.Warnings[unknown], mxsmi.LinksUnknown))
	case !errors.As(err, &short): // not about too few GPUs
	case short.Free == 0 && short.Of > 0:
		return noUsableGPU(node)
	case short.Need <= short.Of:
		return withUnhealthy(node, fmt.Errorf("%w (metax-ctk device list)", err))
	}
	return err
}

// checkGivable reports a GPU that has no device nodes to give, or is given in parts.
func checkGivable(node gpu.Node, g gpu.GPU) error {
	if how, divided := g.Divided(); divided {
		return fmt.Errorf(
			"GPU %d is divided into slices and cannot be used whole (%s): request a slice, --gpus=sgpu:UUID (metax-ctk sgpu list)", g.Index, how)
	}
	if len(g.Nodes) > 0 {
		return nil
	}
	why := discover.NotLoaded(node)
	if why == "" {
		why = reason(node, g, "check its driver") + " (metax-ctk doctor)"
	}
	return fmt.Errorf("GPU %d (%s) has no device nodes, so it cannot be used: %s", g.Index, g.BDF, why)
}

// reason is what discovery had to say of a GPU, or else otherwise.
func reason(node gpu.Node, g gpu.GPU, otherwise string) string {
	for _, line := range node.Warnings {
		if strings.Contains(line, g.BDF.String()) {
			return line
		}
	}
	return otherwise
}

// unhealthyGPUs are the indices of the GPUs that could be given as a whole if they were
// healthy.
func unhealthyGPUs(node gpu.Node) (indices []int) {
	for _, g := range node.GPUs {
		if _, divided := g.Divided(); !divided && !g.Healthy {
			indices = append(indices, g.Index)
		}
	}
	return indices
}

// whyUnhealthy says why a GPU is unhealthy.
func whyUnhealthy(node gpu.Node, index int) string {
	g := node.GPUs[index]
	why := reason(node, g, fmt.Sprintf("metax-ctk health says why (%s)", g.BDF))
	return fmt.Sprintf("GPU %d is unhealthy: %s", index,
		strings.TrimPrefix(why, fmt.Sprintf("GPU %s is unhealthy: ", g.BDF)))
}
