// SPDX-License-Identifier: Apache-2.0

package image

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"
)

// owner is the process that created a container; its text form is the container's
// label.
type owner struct {
	pid       int
	namespace string // the pid namespace, as /proc names it
	until     int64  // Unix time in seconds until which the process may use the container
}

const ownerFormat = "pid %d of %s until %d"

func (o owner) String() string { return fmt.Sprintf(ownerFormat, o.pid, o.namespace, o.until) }

// thisOwner describes this process.
func thisOwner(until time.Time) owner {
	return owner{os.Getpid(), pidNamespace(), until.Unix()}
}

// parseOwner parses the result of String, and nothing else.
func parseOwner(text string) (o owner, ok bool) {
	_, err := fmt.Sscanf(text, ownerFormat, &o.pid, &o.namespace, &o.until)
	return o, err == nil && o.pid > 0 && o.String() == text
}

// pidNamespace is the name of this process's pid namespace; a unique name if it is
// unknown.
func pidNamespace() string {
	name, err := os.Readlink("/proc/self/ns/pid")
	if err != nil || strings.ContainsAny(name, " \n") {
		return fmt.Sprintf("unknown:%d", os.Getpid())
	}
	return name
}

// expired reports whether the owner has ended, or its time is over. A process that
// replaced itself by docker still has its pid. For a process of another namespace only
// the time counts.
func (o owner) expired(now time.Time) bool {
	if now.Unix() > o.until {
		return true
	}
	return o.namespace == pidNamespace() && errors.Is(syscall.Kill(o.pid, 0), syscall.ESRCH)
}

// removeLeftovers removes the containers of killed processes. Images can also bring the
// label, so it is not enough: the name must have the prefix, and the container must
// never have been started. The daemon does not remove running ones without force.
// Errors are ignored, because the next call tries again.
func (d Docker) removeLeftovers(ctx context.Context) {
	list, err := d.Daemon.Labelled(ctx, Label)
	if err != nil {
		return // creating the container fails in the same way
	}
	now := time.Now()
	for _, c := range list {
		o, ok := parseOwner(c.Labels[Label])
		if ok && strings.HasPrefix(c.Name(), namePrefix) && c.State == "created" && o.expired(now) {
			_ = d.Daemon.Remove(ctx, c.ID)
		}
	}
}
