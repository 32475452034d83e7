// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/wording"
)

// The reasons of the condition.
const (
	Upgraded        = "Upgraded"        // all nodes have the driver
	Progressing     = "Progressing"     // nodes are being upgraded
	Waiting         = "Waiting"         // nodes wait: for pods, for a pause of the steps, for other nodes
	Paused          = "Paused"          // by the policy
	NotEnabled      = "NotEnabled"      // the policy does not upgrade nodes
	TooManyFailures = "TooManyFailures" // paused until the cause is gone
	UpgradeFailed   = "UpgradeFailed"   // of some nodes
	Invalid         = "Invalid"         // the policy has a mistake
)

const (
	// mostText is how many bytes the message has at most, far below what a condition may have.
	mostText = 8 << 10
	// mostNames is how many nodes or pods a message names.
	mostNames = 3
)

// stopReason is why no further node may be taken, "" if one may.
func (r *round) stopReason() string {
	switch {
	case !r.Policy.Enabled:
		return "driver.upgradePolicy.enableRollout is not true"
	case r.Policy.Paused:
		return "driver.upgradePolicy.pause is true"
	case len(r.failed) >= r.Policy.Failures:
		return wording.Count(len(r.failed), "node") + " failed (driver.upgradePolicy.maxFailureThreshold)"
	}
	return ""
}

// summarizeProgress says how far the roll-out is.
func (r *round) summarizeProgress() {
	left := 0
	for _, n := range r.Nodes {
		if !n.hasDriverRevision(r.Revision) || n.Record.isUpgrading() ||
			(n.Record.State == Failed && n.Record.To == r.Revision) {
			left++
		}
	}
	parts := []string{fmt.Sprintf("%d of %d nodes have the driver %s", len(r.Nodes)-left, len(r.Nodes), r.Version)}
	for _, part := range []struct {
		what string
		list []string
	}{
		{"being upgraded: ", r.doing},
		{fmt.Sprintf("%d failed: ", len(r.failed)), r.failed},
		{"no further node: ", r.waiting},
	} {
		if len(part.list) > 0 && left > 0 {
			parts = append(parts, part.what+wording.Some(part.list, mostNames))
		}
	}
	if len(r.old) > 0 {
		parts = append(parts, "older agent, same driver: "+wording.Some(r.old, mostNames))
	}
	r.Message = wording.Short(strings.Join(parts, "; "), mostText)
	switch {
	case left == 0:
		r.Ready, r.Reason = true, Upgraded
	case len(r.failed) >= r.Policy.Failures:
		r.Reason = TooManyFailures
	case len(r.doing) > 0:
		r.Reason = Progressing
	case len(r.outdated) > 0 && !r.Policy.Enabled:
		r.Reason = NotEnabled
	case len(r.outdated) > 0 && r.Policy.Paused:
		r.Reason = Paused
	case len(r.failed) > 0:
		r.Reason = UpgradeFailed
	default:
		r.Reason = Waiting
	}
}
