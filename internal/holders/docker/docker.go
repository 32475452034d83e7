// SPDX-License-Identifier: Apache-2.0

package docker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"strconv"
	"syscall"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/dockerd"
	"github.com/metax-ctk/container-toolkit/internal/holders"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

const engine = "docker"

// timeout is how long the daemon may be silent if the context has no earlier deadline; that
// of a Look has one (lease.LookTimeout).
const timeout = 5 * time.Second

// Source looks at the containers of one docker daemon.
type Source struct {
	daemon  dockerd.Daemon
	devices holders.Devices
}

// New returns the source for the daemon at a socket. devices are those of the node's GPUs.
func New(socket string, devices holders.Devices) Source {
	return Source{dockerd.Daemon{Socket: socket, Timeout: timeout}, devices}
}

// Name returns "docker" and the socket.
func (s Source) Name() (name, endpoint string) { return engine, s.daemon.Socket }

// Look lists the containers, and inspects those for which the list is not enough. It leaves
// out a container that could not be inspected in time; the Sight is Partial then. Without a
// socket the error is usage.ErrAbsent.
func (s Source) Look(ctx context.Context, q usage.Question) (usage.Sight, error) {
	list, err := s.daemon.Containers(ctx)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return usage.Sight{}, fmt.Errorf("no docker daemon at %s: %w", s.daemon.Socket, usage.ErrAbsent)
	case err != nil:
		return usage.Sight{Partial: true}, s.explain(err)
	}
	// The events come first, as the daemon has them at hand, while the inspection of a
	// container that is stuck may never end.
	over, eventsErr := s.destroyedLeases(ctx, q.Ended, list)
	containers, inspectErr := s.inspectContainers(ctx, list, q)
	return usage.Sight{Containers: containers, Over: over, Partial: inspectErr != nil}, cmp.Or(inspectErr, eventsErr)
}

// Container returns the container with the ID, the beginning of an ID, or the name, and
// dockerd.ErrNotFound if there is none.
func (s Source) Container(ctx context.Context, idOrName string) (usage.Container, error) {
	c, err := s.daemon.Inspect(ctx, idOrName)
	if err != nil {
		return usage.Container{}, s.explain(err)
	}
	return FromInspection(c, s.devices), nil
}

// explain adds to a permission error which group has access.
func (s Source) explain(err error) error {
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	info, statErr := os.Stat(s.daemon.Socket)
	if statErr != nil {
		return err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return err
	}
	name := strconv.FormatUint(uint64(st.Gid), 10)
	if group, err := user.LookupGroupId(name); err == nil {
		name = group.Name
	}
	return fmt.Errorf("%w: the socket belongs to group %q", err, name)
}
