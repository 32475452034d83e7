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

// patience bounds the daemon's silence where the context does not bound it more,
// as that of a Look does.
const patience = 2 * time.Second

// Source looks at the containers of one docker daemon.
type Source struct {
	daemon  dockerd.Daemon
	devices holders.Devices
}

// New returns the source of the daemon behind a socket, for GPUs with these devices.
func New(socket string, devices holders.Devices) Source {
	return Source{dockerd.Daemon{Socket: socket, Patience: patience}, devices}
}

// Name returns "docker" and the socket.
func (s Source) Name() (name, endpoint string) { return engine, s.daemon.Socket }

// Look lists the containers and inspects those of which that is not enough. It
// returns a container only with all that is to be known of it, so that one that
// could not be inspected in time is left out, and the Sight is Partial. Without a
// socket the error is usage.ErrAbsent.
func (s Source) Look(ctx context.Context, q usage.Question) (usage.Sight, error) {
	list, err := s.daemon.Containers(ctx)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return usage.Sight{}, fmt.Errorf("no docker daemon at %s: %w", s.daemon.Socket, usage.ErrAbsent)
	case err != nil:
		return usage.Sight{Partial: true}, s.explain(err)
	}
	// The events come first because they are told at once, while one container
	// that is stuck can keep its inspection from ever ending.
	over, unheard := s.over(ctx, q.Ended, list)
	containers, unseen := s.containers(ctx, list, q)
	return usage.Sight{Containers: containers, Over: over, Partial: unseen != nil}, cmp.Or(unseen, unheard)
}

// Container returns the container with the ID, the beginning of an ID, or the
// name, and dockerd.ErrNotFound if there is none.
func (s Source) Container(ctx context.Context, idOrName string) (usage.Container, error) {
	c, err := s.daemon.Inspect(ctx, idOrName)
	if err != nil {
		return usage.Container{}, s.explain(err)
	}
	return whole(c, s.devices), nil
}

// explain adds to a refusal who is not refused.
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
