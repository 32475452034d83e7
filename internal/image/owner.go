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

// owner is the process that has made a container, as its label says it.
type owner struct {
	pid       int
	namespace string // the one that counts the pid, as /proc names it
	until     int64  // seconds since 1970 at which it will not need it any more
}

const ownerFormat = "pid %d of %s until %d"

func (o owner) String() string { return fmt.Sprintf(ownerFormat, o.pid, o.namespace, o.until) }

// thisOwner is this process.
func thisOwner(until time.Time) owner {
	return owner{os.Getpid(), pidNamespace(), until.Unix()}
}

// parseOwner reads what String writes, and nothing else.
func parseOwner(text string) (o owner, ok bool) {
	_, err := fmt.Sscanf(text, ownerFormat, &o.pid, &o.namespace, &o.until)
	return o, err == nil && o.pid > 0 && o.String() == text
}

// pidNamespace names the namespace of our pids; a name that equals no other where
// that cannot be found out.
func pidNamespace() string {
	name, err := os.Readlink("/proc/self/ns/pid")
	if err != nil || strings.ContainsAny(name, " \n") {
		return fmt.Sprintf("unknown:%d", os.Getpid())
	}
	return name
}

// over reports whether the owner has ended, or has had its time. A process that
// replaced itself by docker has the same pid; so has one of another namespace, of
// which only the time tells.
func (o owner) over(now time.Time) bool {
	if now.Unix() > o.until {
		return true
	}
	return o.namespace == pidNamespace() && errors.Is(syscall.Kill(o.pid, 0), syscall.ESRCH)
}

// clear removes what killed processes have left. A label comes with an image,
// too, so it is not enough: the name has to be one of ours, and the container
// never started; running ones the daemon does not remove for this. Nothing waits
// for it, so that what fails here is for the next time.
func (d Docker) clear(ctx context.Context) {
	list, err := d.Daemon.Labelled(ctx, Label)
	if err != nil {
		return // the next question has the same answer
	}
	now := time.Now()
	for _, c := range list {
		o, ok := parseOwner(c.Labels[Label])
		if ok && strings.HasPrefix(c.Name(), namePrefix) && c.State == "created" && o.over(now) {
			_ = d.Daemon.Remove(ctx, c.ID)
		}
	}
}
