// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/usage"
	"github.com/metax-ctk/container-toolkit/internal/wording"
)

// ErrBusy is the error of a request that fails only because others use GPUs.
var ErrBusy = errors.New("GPUs are in use")

// HeldError reports a GPU, or a slice, that was requested by name and is in use.
type HeldError struct {
	GPU    int    // index
	Slice  string // its name, empty for the whole GPU
	Holder usage.Holder
}

func (e *HeldError) Error() string {
	if e.Holder.Unseen {
		return fmt.Sprintf("GPU %d may be in use: %v (metax-ctk ps)", e.GPU, usage.ErrUnfinished)
	}
	if e.Slice != "" {
		return fmt.Sprintf("slice %s of GPU %d is in use by %s (metax-ctk ps)", e.Slice, e.GPU, e.Holder)
	}
	return fmt.Sprintf("GPU %d is in use by %s (metax-ctk ps)", e.GPU, e.Holder)
}

func (e *HeldError) Unwrap() error { return ErrBusy }

// FullError reports that too few GPUs are free.
type FullError struct {
	Want int // requested
	Free int
	Of   int // healthy GPUs of the node
}

func (e *FullError) Error() string {
	return fmt.Sprintf("cannot get %s: %s (metax-ctk ps)", wording.Count(e.Want, "GPU"), e.reason("", ""))
}

// reason says how many GPUs are free, with a noun and an adverb in it.
func (e *FullError) reason(noun, still string) string {
	switch {
	case e.Free == 0 && e.Of == 1:
		return "the only GPU is " + still + "in use"
	case e.Free == 0:
		return fmt.Sprintf("all %d %sare %sin use", e.Of, noun, still)
	case e.Free == 1:
		return fmt.Sprintf("only 1 of %d %sis free", e.Of, noun)
	}
	return fmt.Sprintf("only %d of %d %sare free", e.Free, e.Of, noun)
}

func (e *FullError) Unwrap() error { return ErrBusy }

// QueueError reports that others wait for GPUs and came earlier.
type QueueError struct {
	Waiting int
	// Behind is true for a claim that all requests in the queue go before, also later ones.
	Behind bool
}

func (e *QueueError) Error() string {
	switch {
	case e.Behind && e.Waiting == 1:
		return "a request in the queue goes first (metax-ctk lease list)"
	case e.Behind:
		return fmt.Sprintf("%d requests in the queue go first (metax-ctk lease list)", e.Waiting)
	}
	if e.Waiting == 1 {
		return "a request that came earlier waits for GPUs (metax-ctk ps)"
	}
	return fmt.Sprintf("%d requests that came earlier wait for GPUs (metax-ctk ps)", e.Waiting)
}

func (e *QueueError) Unwrap() error { return ErrBusy }

// WaitError reports that the GPUs did not come free in time.
type WaitError struct {
	Wait time.Duration
	Err  error // why the request could not be met at the end
}

func (e *WaitError) Error() string {
	var full *FullError
	if errors.As(e.Err, &full) {
		return fmt.Sprintf("gave up after %s: %s (metax-ctk ps)", wording.Duration(e.Wait), full.reason("GPUs ", "still "))
	}
	return fmt.Sprintf("gave up after %s: %v", wording.Duration(e.Wait), e.Err)
}

func (e *WaitError) Unwrap() error { return e.Err }

// UnknownLeaseError reports an ID that no lease has.
type UnknownLeaseError struct{ ID string }

func (e *UnknownLeaseError) Error() string {
	return fmt.Sprintf("no lease %q (metax-ctk lease list)", e.ID)
}

// ForceError reports a lease that must not be released without saying so.
type ForceError struct {
	Lease  usage.Lease
	Others bool // it is another user's
	Holder usage.Holder
}

func (e *ForceError) Error() string {
	var why []string
	if e.Others {
		whose := "its user is unknown"
		if u := e.Lease.User; u != nil {
			whose = "it belongs to " + u.String()
		}
		why = append(why, whose)
	}
	if e.Holder.Lease != nil {
		why = append(why, fmt.Sprintf("it is %s: %s", e.Holder.State(), e.Holder))
	}
	return fmt.Sprintf("lease %s: %s. To release it anyway: --force", e.Lease.ID, strings.Join(why, ", and "))
}

// EndedError reports that the request was ended by a user while it waited.
type EndedError struct {
	ID string
	By usage.User
}

func (e *EndedError) Error() string {
	return fmt.Sprintf("request %s was ended by %s (metax-ctk lease release)", e.ID, e.By)
}

// QueuedError reports a request that only its user or root may end.
type QueuedError struct {
	ID   string
	User *usage.User // nil if it is not known
}

func (e *QueuedError) Error() string {
	whose := "a user who is not known"
	if e.User != nil {
		whose = e.User.String()
	}
	return fmt.Sprintf("request %s belongs to %s: only that user and root can end it (sudo metax-ctk lease release %s)",
		e.ID, whose, e.ID)
}
