// SPDX-License-Identifier: Apache-2.0

package image

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/dockerd"
)

const (
	// namePrefix begins the names of the containers that are created to read files.
	namePrefix = "metax-inspect-"
	// Label marks such a container; its value is the owner.
	Label = "metax-tech.com/inspection"
	// maxOpen is the longest time that an image may be open.
	maxOpen = 2 * time.Minute
	// cleanupTimeout bounds the removal of a container.
	cleanupTimeout = 15 * time.Second
)

// Docker is a docker daemon as a Source. It reads the files of an image from a
// container that is never started and has no network, log or volumes. Containers of
// killed processes are removed when the next image is opened.
type Docker struct {
	Daemon dockerd.Daemon
	// Platform is docker's --platform, empty for the daemon's choice.
	Platform string
}

// Config queries the daemon for an image.
func (d Docker) Config(ctx context.Context, ref string) (Config, error) {
	i, err := d.Daemon.Image(ctx, ref, d.Platform)
	if errors.Is(err, dockerd.ErrNotFound) {
		err = fmt.Errorf("%w: %w", ErrNotFound, err)
	}
	if err != nil {
		return Config{}, err
	}
	c := configOf(i)
	c.copies = i.GraphDriver.Name == "vfs"
	return c, nil
}

// configOf converts an engine's description of an image.
func configOf(i dockerd.Image) Config {
	return Config{
		ID: i.ID, Platform: i.Platform(), Env: i.Config.Env, Labels: i.Config.Labels,
		Volumes: slices.Sorted(maps.Keys(i.Config.Volumes)),
	}
}

// Open creates a container of the image.
func (d Docker) Open(ctx context.Context, c Config) (OpenImage, error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	if c.copies {
		return nil, fmt.Errorf("%w: the storage driver vfs copies all of an image for each container", ErrUninspectable)
	}
	until := time.Now().Add(maxOpen)
	// Once requested, the daemon creates the container even if this process stops
	// waiting. So it waits, to be able to remove the container.
	detached, stop := context.WithDeadline(context.WithoutCancel(ctx), until)
	d.removeLeftovers(detached)
	made, err := d.create(detached, c, until)
	if err != nil {
		stop()
		return nil, err
	}
	o := &dockerFiles{Made: made, detached: detached, stop: stop}
	if ctx.Err() != nil {
		return nil, errors.Join(context.Cause(ctx), o.Close())
	}
	return o, nil
}

func (d Docker) create(ctx context.Context, c Config, until time.Time) (dockerd.Made, error) {
	draft := dockerd.Draft{
		Image: c.ID, Platform: d.Platform, Covered: c.Volumes,
		Labels: map[string]string{Label: thisOwner(until).String()},
	}
	_, digest, _ := strings.Cut(c.ID, ":")
	var made dockerd.Made
	err := dockerd.ErrExists
	for try := 0; try < 3 && errors.Is(err, dockerd.ErrExists); try++ {
		//nolint:gosec // G404: the number makes the name unlikely to be taken; it need not be secret
		draft.Name = fmt.Sprintf("%s%.12s-%08x", namePrefix, digest, rand.Uint32())
		made, err = d.Daemon.Create(ctx, draft)
	}
	refused := (*dockerd.StatusError)(nil)
	switch {
	case err == nil:
		return made, nil
	case errors.Is(err, dockerd.ErrNotFound):
		err = fmt.Errorf("%w: %w", ErrNotFound, err)
	case !errors.As(err, &refused):
		// The container may exist even though the daemon reported an error. If it is
		// created later, it is removed when the next image is opened.
		clear, stop := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
		defer stop()
		if e := d.Daemon.Remove(clear, draft.Name); e != nil && !errors.Is(e, dockerd.ErrNotFound) {
			err = errors.Join(err, e)
		}
	}
	return dockerd.Made{}, err
}

// dockerFiles are the files of one container.
type dockerFiles struct {
	dockerd.Made
	detached context.Context // ends when other processes may remove the container as a leftover
	stop     func()
}

func (o *dockerFiles) Stat(ctx context.Context, path string) (Stat, error) {
	ctx, stop := o.withDeadline(ctx)
	defer stop()
	s, err := o.Made.Stat(ctx, path)
	if errors.Is(err, dockerd.ErrNotFound) {
		err = fmt.Errorf("%w: %w", fs.ErrNotExist, err)
	}
	return Stat{Mode: s.Mode, Size: s.Size, Target: s.LinkTarget}, err
}

func (o *dockerFiles) File(ctx context.Context, path string, max int64) ([]byte, error) {
	ctx, stop := o.withDeadline(ctx)
	defer stop()
	data, err := o.Made.File(ctx, path, max)
	for theirs, ours := range map[error]error{
		dockerd.ErrNotFound: fs.ErrNotExist, dockerd.ErrNotRegular: ErrNotRegular, dockerd.ErrTooLarge: ErrTooLarge,
	} {
		if errors.Is(err, theirs) {
			err = fmt.Errorf("%w: %w", ours, err)
		}
	}
	return data, err
}

// withDeadline limits the context to the time in which the container may be used.
func (o *dockerFiles) withDeadline(ctx context.Context) (context.Context, func()) {
	until, _ := o.detached.Deadline()
	return context.WithDeadline(ctx, until)
}

// Close removes the container. If the container is gone already, files may have seemed
// to be missing in the image.
func (o *dockerFiles) Close() error {
	defer o.stop()
	ctx, stop := context.WithTimeout(context.WithoutCancel(o.detached), cleanupTimeout)
	defer stop()
	err := o.Remove(ctx)
	if errors.Is(err, dockerd.ErrNotFound) {
		return fmt.Errorf("%w: %w", ErrVanished, err)
	}
	return err
}
