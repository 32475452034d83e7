// SPDX-License-Identifier: Apache-2.0

package alloc

import (
	"errors"
	"fmt"

	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/internal/topology"
	"github.com/metax-ctk/container-toolkit/internal/wording"
)

// ErrUnmet is every error, by errors.Is, that says: the request is valid, but no set of these
// free GPUs meets it, or the size rule refuses its number.
var ErrUnmet = errors.New("the request for GPUs cannot be met")

// InsufficientError reports that fewer GPUs can be picked than are requested.
type InsufficientError struct {
	Need, Free int
	Of         int // GPUs of the node
}

func (e *InsufficientError) Error() string {
	requested := wording.Count(e.Need, "GPU") + " requested, but "
	switch {
	case e.Of == 0:
		return requested + "this node has no GPU"
	case e.Need > e.Of:
		return fmt.Sprintf("%sthis node has only %d", requested, e.Of)
	case e.Free == 0:
		return fmt.Sprintf("%sall %d GPUs of this node are in use or unhealthy", requested, e.Of)
	}
	return fmt.Sprintf("%sonly %d of %d GPUs are free and healthy", requested, e.Free, e.Of)
}

// Is makes the error an ErrUnmet.
func (e *InsufficientError) Is(target error) bool { return target == ErrUnmet }

// requiredError reports required GPUs that are not free.
type requiredError struct {
	GPUs []int // those not free, ascending
	// Best is the answer without this condition; nil if no set meets the request then.
	Best []int
}

func (e *requiredError) Error() string {
	noun := "GPU"
	if len(e.GPUs) > 1 {
		noun = "GPUs"
	}
	s := fmt.Sprintf("required but not free: %s %s", noun, join(e.GPUs))
	if e.Best != nil {
		s += fmt.Sprintf("; without this condition, the best are %s", join(e.Best))
	}
	return s
}

// Is makes the error an ErrUnmet.
func (e *requiredError) Is(target error) bool { return target == ErrUnmet }

// sizeError reports a number of GPUs that the size rule refuses.
type sizeError struct {
	N int
	// Nearest is the recommended number nearest to N that can be picked, the greater
	// of two equally near; 0 if no such number can be.
	Nearest int
	// Origin is the setting that has the rule; empty if unknown.
	Origin string
}

func (e *sizeError) Error() string {
	s := fmt.Sprintf("%s requested; only 1, 2, 4 or 8 are allowed", wording.Count(e.N, "GPU"))
	if e.Origin != "" {
		s += fmt.Sprintf(" (enforce, from %s)", e.Origin)
	}
	if e.Nearest > 0 {
		s += fmt.Sprintf(", and %d can be picked", e.Nearest)
	}
	return s
}

// Is makes the error an ErrUnmet.
func (e *sizeError) Is(target error) bool { return target == ErrUnmet }

// scopeError reports that no set of N free GPUs lies within the scope.
type scopeError struct {
	N     int
	Scope key.Scope
	// Unfinished says that the search ended before it had proven that no set exists.
	Unfinished bool
	// Never says that not even all GPUs of the node have such a set.
	Never bool
	// Required says that the request names GPUs that the set must have.
	Required bool
	// Most is the greatest number below N for which a set was found, among all GPUs of
	// the node if Never, else among the free ones; 0 if none was.
	Most int
	// Place says that Most is the number of GPUs in the largest place of that scope.
	Place bool
	// Best is the answer without the scope, and Class its class.
	Best  []int
	Class topology.Kind
}

func (e *scopeError) Error() string {
	gpus, with, most := wording.Count(e.N, "GPU"), "", ""
	if e.Required {
		with = " with the required ones"
	}
	if e.Most > 1 {
		most = fmt.Sprintf(" (at most %d)", e.Most)
	}
	s := fmt.Sprintf("no %s%s are %s%s", wording.Count(e.N, "free GPU"), with, scopeWords[e.Scope], most)
	switch {
	case e.Unfinished:
		s = fmt.Sprintf("found no %s%s that are %s%s; not all sets were searched", wording.Count(e.N, "free GPU"), with,
			scopeWords[e.Scope], most)
	case e.Never && e.Place && e.Most > 1:
		s = fmt.Sprintf("%s requested, but %s has only %d", gpus, scopePlaces[e.Scope], e.Most)
	case e.Never && e.Place:
		s = fmt.Sprintf("%s requested, but no two GPUs of this node are %s", gpus, scopeWords[e.Scope])
	case e.Never:
		s = fmt.Sprintf("no %s of this node%s are %s%s", gpus, with, scopeWords[e.Scope], most)
	}
	return fmt.Sprintf("%s; without scope %s: %s (%v)", s, e.Scope, join(e.Best), e.Class)
}

// Is makes the error an ErrUnmet.
func (e *scopeError) Is(target error) bool { return target == ErrUnmet }

// ArgumentError reports a request that is invalid, whichever GPUs are free.
type ArgumentError struct {
	Reason string
}

func (e *ArgumentError) Error() string { return "pick GPUs: " + e.Reason }

// TooLargeError reports a node with more GPUs than are supported.
type TooLargeError struct {
	GPUs, Max int
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("pick GPUs: the node has %d; nodes of more than %d are not supported", e.GPUs, e.Max)
}

// scopeWords names a scope in a sentence: "no 4 free GPUs are on …".
var scopeWords = [...]string{
	key.Link: "joined by MetaXLink", key.Switch: "on one PCIe switch", key.NUMA: "on one NUMA node",
	key.Node: "on one host",
}

// scopePlaces names what the GPUs of a scope share.
var scopePlaces = [...]string{
	key.Link: "a MetaXLink domain of this node", key.Switch: "a PCIe switch of this node", key.NUMA: "a NUMA node here",
	key.Node: "this host",
}

// join lists GPUs: "0,1,4-7".
func join(gpus []int) string { return wording.Ranges(gpus) }
