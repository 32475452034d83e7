// SPDX-License-Identifier: Apache-2.0

package docker

import (
	"context"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/dockerd"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// destroyedLeases returns the IDs of the ended leases whose container the daemon's events say
// was destroyed, in their order. Absence from the list is not enough: the container may be
// about to be made. A rebuilt lease that does not know its engine may be docker's.
func (s Source) destroyedLeases(ctx context.Context, ended []usage.Lease, list []dockerd.Summary) ([]string, error) {
	var unlisted []usage.Lease
	for _, l := range ended {
		listed := func(c dockerd.Summary) bool {
			return c.Labels[usage.LeaseLabel] == l.ID || c.ID == l.Container
		}
		ours := (l.Engine == engine && l.Endpoint == s.daemon.Socket) || l.Engine == ""
		if ours && !slices.ContainsFunc(list, listed) {
			unlisted = append(unlisted, l)
		}
	}
	if len(unlisted) == 0 {
		return nil, nil
	}
	events, err := s.daemon.Events(ctx, map[string][]string{"type": {"container"}, "event": {"destroy"}})
	if err != nil {
		return nil, err
	}
	var over []string
	for _, l := range unlisted {
		if slices.ContainsFunc(events, func(e dockerd.Event) bool { return destroys(e, l) }) {
			over = append(over, l.ID)
		}
	}
	return over, nil
}

// destroys reports whether the event ended the container of the lease. Any user can set
// the label; it counts until the container's ID is known.
func destroys(e dockerd.Event, l usage.Lease) bool {
	if e.Action != "destroy" {
		return false
	}
	if l.Container != "" {
		return e.Actor.ID == l.Container
	}
	return e.Actor.Attributes[usage.LeaseLabel] == l.ID
}
