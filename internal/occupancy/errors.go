package occupancy

import (
	"errors"
	"fmt"
	"strings"
)

// ErrBusy is what a request fails with that could be met if others held less.
var ErrBusy = errors.New("GPUs are held")

// HeldError reports a GPU, or a slice, that was asked for by name and is held.
type HeldError struct {
	GPU    int    // index
	Slice  string // its name, empty for the whole GPU
	Holder Holder
}

func (e *HeldError) Error() string {
	if e.Holder.Unseen {
		return fmt.Sprintf("GPU %d may be in use: %v (metax-ctk ps)", e.GPU, ErrUnfinished)
	}
	if e.Slice != "" {
		return fmt.Sprintf("slice %s of GPU %d is held by %s (metax-ctk ps)", e.Slice, e.GPU, e.Holder)
	}
	return fmt.Sprintf("GPU %d is held by %s (metax-ctk ps)", e.GPU, e.Holder)
}

func (e *HeldError) Unwrap() error { return ErrBusy }

// FullError reports that too few GPUs are free.
type FullError struct {
	Want int // asked for
	Free int
	Held int
	Of   int // healthy GPUs of the node
}

func (e *FullError) Error() string {
	if e.Free == 0 {
		return fmt.Sprintf("no free GPU: %d of %d are held (metax-ctk ps)", e.Held, e.Of)
	}
	return fmt.Sprintf("%d GPUs asked for, %d free: %d of %d are held (metax-ctk ps)", e.Want, e.Free, e.Held, e.Of)
}

func (e *FullError) Unwrap() error { return ErrBusy }

// QueueError reports that others wait for GPUs and came earlier.
type QueueError struct {
	Waiting int
}

func (e *QueueError) Error() string {
	if e.Waiting == 1 {
		return "a request that came earlier waits for GPUs (metax-ctk ps)"
	}
	return fmt.Sprintf("%d requests that came earlier wait for GPUs (metax-ctk ps)", e.Waiting)
}

func (e *QueueError) Unwrap() error { return ErrBusy }

// WaitError reports that the GPUs did not come free in time.
type WaitError struct {
	Err error // the last state of things
}

func (e *WaitError) Error() string { return "waited in vain: " + e.Err.Error() }

func (e *WaitError) Unwrap() error { return e.Err }

// UnknownLeaseError reports an ID that no lease has.
type UnknownLeaseError struct{ ID string }

func (e *UnknownLeaseError) Error() string {
	return fmt.Sprintf("no lease %q (metax-ctk lease list)", e.ID)
}

// ForceError reports a lease that must not be released without saying so.
type ForceError struct {
	Lease  Lease
	Others bool // it is another user's
	Holder Holder
}

func (e *ForceError) Error() string {
	var why []string
	if e.Others {
		whose := "nobody known"
		if u := e.Lease.User; u != nil {
			whose = u.String()
		}
		why = append(why, "it is that of "+whose)
	}
	if e.Holder.Lease != nil {
		why = append(why, fmt.Sprintf("it is %s: %s", e.Holder.State(), e.Holder))
	}
	return fmt.Sprintf("lease %s: %s; to release it all the same, add --force", e.Lease.ID, strings.Join(why, ", and "))
}

// EndedError reports that somebody ended the request while it waited.
type EndedError struct {
	ID string
	By User
}

func (e *EndedError) Error() string {
	return fmt.Sprintf("request %s was ended by %s (metax-ctk lease release)", e.ID, e.By)
}

// QueuedError reports a request that only its user or root may end.
type QueuedError struct {
	ID   string
	User *User // nil if it is not known
}

func (e *QueuedError) Error() string {
	whose := "a user who is not known"
	if e.User != nil {
		whose = e.User.String()
	}
	return fmt.Sprintf("request %s belongs to %s: only that user and root can end it (sudo metax-ctk lease release %s)", e.ID, whose, e.ID)
}
