// SPDX-License-Identifier: Apache-2.0

package assign

import (
	"errors"
	"fmt"

	"github.com/metax-ctk/container-toolkit/internal/alloc"
	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/lease"
	"github.com/metax-ctk/container-toolkit/internal/request"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// Request is what one container is to get.
type Request struct {
	request.Request
	// Service is the container's service in its project. It stands in messages, and is
	// empty for the only container of a command line.
	Service string
	Policy  key.Policy
	Scope   key.Scope
	Sizes   alloc.SizeRule
	// SizesOrigin is the setting that Sizes is from, for messages.
	SizesOrigin string
	Share       bool // also GPUs that are in use
	// Had is the container that the service has; nil for none.
	Had *Had
	// Idle is true where the command makes no container: the request keeps the GPUs of a
	// container that runs, and otherwise gets none.
	Idle bool
}

// Job is what a command wants: all of its requests are met, or none is.
type Job struct {
	Node     gpu.Node
	Requests []Request
	// Verb is that of the leases.
	Verb string
	// State has the leases that requests with Had may name.
	State   lease.State
	Explain bool
}

// Had is the container that a service has.
type Had struct {
	usage.Container
	Labels map[string]string
}

// resolveNames finds what a request names on a node. A GPU that was there earlier is said to
// be lost.
func resolveNames(node gpu.Node, r request.Request) (request.Selection, error) {
	selection, err := r.Resolve(node.GPUs)
	var unknown *request.UnknownError
	if errors.As(err, &unknown) {
		for _, l := range node.Lost {
			named := request.Request{IDs: []string{unknown.ID}}
			if _, err := named.Resolve([]gpu.GPU{{Index: l.Index, BDF: l.BDF, UUID: l.UUID}}); err == nil {
				return selection, fmt.Errorf("%q: %s", unknown.ID, l)
			}
		}
	}
	return selection, err
}

// unresolvedError is the error for a request that names what the node does not have.
func (r Request) unresolvedError(err error) error {
	var unknown *request.UnknownError
	switch {
	case r.Service != "":
		return r.wrapError(err)
	case errors.As(err, &unknown) && unknown.Range != "":
		return err
	case errors.As(err, &unknown):
		return fmt.Errorf("%q is not a GPU: use a count (2), all, or IDs (0,2); this node has %s", unknown.ID, unknown.GPUs)
	}
	return fmt.Errorf("--gpus: %w", err)
}

// servicePrefix names the service in front of a message.
func (r Request) servicePrefix() string {
	if r.Service == "" {
		return ""
	}
	return fmt.Sprintf("service %q: ", r.Service)
}

func (r Request) wrapError(err error) error { return fmt.Errorf("%s%w", r.servicePrefix(), err) }
