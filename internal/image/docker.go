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
	// namePrefix begins the names of the containers that Docker makes.
	namePrefix = "metax-inspect-"
	// Label tells such a container, and whose it is.
	Label = "metax-tech.com/inspection"
	// longest is how long an image may be held open.
	longest = 2 * time.Minute
	// clearing bounds what the removal of a container may take.
	clearing = 15 * time.Second
)

// Docker is a docker daemon as a Source. The files of an image are read by way of
// a container that is never started and has no network, no log and no volumes.
// What a killed process has left is removed when the next image is opened.
type Docker struct {
	Daemon dockerd.Daemon
	// Platform is docker's --platform, empty for the daemon's choice.
	Platform string
}

// Config asks the daemon for an image.
func (d Docker) Config(ctx context.Context, ref string) (Config, error) {
	i, err := d.Daemon.Image(ctx, ref, d.Platform)
	if errors.Is(err, dockerd.ErrNotFound) {
		err = fmt.Errorf("%w: %w", ErrNotFound, err)
	}
	if err != nil {
		return Config{}, err
	}
	if i.GraphDriver.Name == "vfs" {
		return Config{}, fmt.Errorf("inspect image %q: %w: the storage driver vfs copies all of an image for each container", ref, ErrUninspectable)
	}
	return configOf(i), nil
}

// configOf is an image as an engine tells it.
func configOf(i dockerd.Image) Config {
	return Config{
		ID: i.ID, Platform: i.Platform(), Env: i.Config.Env, Labels: i.Config.Labels,
		Volumes: slices.Sorted(maps.Keys(i.Config.Volumes)),
	}
}

// Open makes a container of the image.
func (d Docker) Open(ctx context.Context, c Config) (Open, error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	until := time.Now().Add(longest)
	// Once the daemon has been asked it makes the container, whether we wait or
	// not; so we do, to be able to remove it.
	detached, stop := context.WithDeadline(context.WithoutCancel(ctx), until)
	d.clear(detached)
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
		// It may be there without our having been told; if it comes later, it is
		// left for the next time.
		clear, stop := context.WithTimeout(context.WithoutCancel(ctx), clearing)
		defer stop()
		if e := d.Daemon.Remove(clear, draft.Name); e != nil && !errors.Is(e, dockerd.ErrNotFound) {
			err = errors.Join(err, e)
		}
	}
	return dockerd.Made{}, err
}

// dockerFiles are those of one container.
type dockerFiles struct {
	dockerd.Made
	detached context.Context // ends when others may take the container for left
	stop     func()
}

func (o *dockerFiles) Stat(ctx context.Context, path string) (Stat, error) {
	ctx, stop := o.bound(ctx)
	defer stop()
	s, err := o.Made.Stat(ctx, path)
	if errors.Is(err, dockerd.ErrNotFound) {
		err = fmt.Errorf("%w: %w", fs.ErrNotExist, err)
	}
	return Stat{Mode: s.Mode, Size: s.Size, Target: s.LinkTarget}, err
}

func (o *dockerFiles) File(ctx context.Context, path string, max int64) ([]byte, error) {
	ctx, stop := o.bound(ctx)
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

// bound is the context as far as the container may be used.
func (o *dockerFiles) bound(ctx context.Context) (context.Context, func()) {
	until, _ := o.detached.Deadline()
	return context.WithDeadline(ctx, until)
}

// Close removes the container. That it is gone already would mean that files were
// missed for another reason than that the image has none.
func (o *dockerFiles) Close() error {
	defer o.stop()
	ctx, stop := context.WithTimeout(context.WithoutCancel(o.detached), clearing)
	defer stop()
	err := o.Remove(ctx)
	if errors.Is(err, dockerd.ErrNotFound) {
		return fmt.Errorf("%w: %w", ErrVanished, err)
	}
	return err
}
