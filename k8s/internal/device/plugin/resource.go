// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"slices"
	"sync"

	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// Resource is a resource and the modes in which it is served. It is for one goroutine.
type Resource struct {
	*Server
	List  List
	Modes []protocol.Mode
	// VFIO is the Backend of GPUs for virtual machines; nil for other resources. These are
	// served in all modes, as long as there are some.
	VFIO *VFIO

	stop context.CancelFunc // ends the sessions; nil if there are none
}

// serves reports whether the resource is that of the mode.
func (r *Resource) serves(m protocol.Mode) bool { return slices.Contains(r.Modes, m) }

// settle begins the sessions of a resource that is to be served. Those of another end when the
// kubelet has been told that no device is left.
func (r *Resource) settle(ctx context.Context, m protocol.Mode, all *sync.WaitGroup) {
	devices, _ := r.list()
	serves := r.serves(m) || (r.VFIO != nil && len(devices) > 0)
	switch {
	case serves && r.stop == nil:
		ctx, r.stop = context.WithCancel(ctx)
		all.Go(func() { r.Run(ctx) })
	case !serves && r.stop != nil && len(devices) == 0:
		r.stop()
		r.stop = nil
		r.Log.Info("the resource is not served any more", "resource", r.Server.Resource, "mode", string(m))
	}
}
