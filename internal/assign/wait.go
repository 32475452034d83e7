// SPDX-License-Identifier: Apache-2.0

package assign

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/lease"
	"github.com/metax-ctk/container-toolkit/internal/wording"
)

// calm is the time between two lines about a wait, unless its position has changed.
const calm = 10 * time.Second

// NoLimit is the time of a wait that does not end before the GPUs are free.
const NoLimit time.Duration = math.MaxInt64

// What a wait says while no request in the queue is ahead of it.
const (
	inQueue = "next in line"
	noPlace = "no request ahead" // of a wait outside the queue, which later requests pass
)

// waitingPrinter returns a function that prints the position of a request: the first time,
// when it has changed, and every calm. most is the longest wait, first is inQueue or noPlace.
func (k Keeper) waitingPrinter(most time.Duration, first string) func(lease.Progress) {
	var last lease.Progress
	said, upTo, of := false, " up to "+wording.Duration(most), " of "+wording.Duration(most)
	if most == NoLimit {
		upTo, of = "", ""
	}
	return func(now lease.Progress) {
		text := standing(k.config.Node, now, first)
		switch {
		case !said:
			k.config.Note(fmt.Sprintf("waiting%s, %s", upTo, text))
		case now.Before == last.Before && now.Waited-last.Waited < calm:
			return
		default:
			k.config.Note(fmt.Sprintf("waited %s%s, %s", wording.Duration(now.Waited.Round(time.Second)), of, text))
		}
		last, said = now, true
	}
}

// standing describes the position of a request, what it lacks, and who uses the GPUs.
func standing(node gpu.Node, now lease.Progress, first string) string {
	var queued *lease.QueueError
	var held *lease.HeldError
	text := first
	if errors.As(now.Err, &queued) {
		text = wording.Count(queued.Waiting, "request") + " ahead"
	} else {
		text += ": " + now.Err.Error()
	}
	if errors.As(now.Err, &held) {
		return text
	}
	if users := gpuUsers(node, now.Holders, node.Healthy()); len(users) > 0 {
		text += "; in use: " + wording.Some(users, maxUsers)
	}
	return text
}
