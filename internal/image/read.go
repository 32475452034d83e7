package image

import (
	"context"
	"errors"
	"fmt"
)

// Config is what an engine tells of an image without looking into it.
type Config struct {
	ID       string // "sha256:…"
	Platform string // "linux/amd64"
	Env      []string
	Labels   map[string]string
	Volumes  []string // directories that the image wants volumes on
}

// Source is an engine that has images.
type Source interface {
	// Config returns what the engine would run for a reference; ErrNotFound if it
	// does not have it.
	Config(ctx context.Context, ref string) (Config, error)
	// Open makes an image's files readable until they are closed. It fails with
	// ErrUninspectable where the engine cannot do that.
	Open(ctx context.Context, c Config) (Open, error)
}

// Open are the files of an image that is held open for them.
type Open interface {
	Files
	// Close takes away what was made for reading, also when the context is done.
	// After ErrVanished nothing that was read counts; after another error
	// something is left, until the next image is opened.
	Close() error
}

// ErrVanished reports that somebody has taken away what was made for reading.
var ErrVanished = errors.New("taken away while it was read")

// Read returns the facts of the image that the source would run for a reference,
// out of the cache if it has them. It fails with ErrNotFound, ErrUninspectable, or
// what the engine said. labelNames are as for Inspect.
func Read(ctx context.Context, source Source, ref string, cache Cache, labelNames []string) (Facts, error) {
	c, err := source.Config(ctx, ref)
	if err != nil {
		return Facts{}, err
	}
	key := Key{ID: c.ID, Platform: c.Platform, Labels: labelNames}
	facts, ok := cache.Get(key)
	if !ok {
		if facts, err = inspect(ctx, source, c, labelNames); err != nil {
			return Facts{}, err
		}
		facts.Uncached = cache.Put(key, facts)
		facts.Warnings = append(facts.Warnings, facts.left...)
	}
	facts.Env, facts.Labels, facts.Volumes = c.Env, c.Labels, c.Volumes
	return facts, nil
}

// inspect is Inspect with the source's files.
func inspect(ctx context.Context, source Source, c Config, labelNames []string) (facts Facts, err error) {
	files, err := source.Open(ctx, c)
	if err != nil {
		return Facts{}, fmt.Errorf("open image %q: %w", c.ID, err)
	}
	defer func() {
		switch e := files.Close(); {
		case e == nil:
		case err != nil || errors.Is(e, ErrVanished):
			facts, err = Facts{}, errors.Join(err, fmt.Errorf("close image %q: %w", c.ID, e))
		default:
			facts.left = []string{fmt.Sprintf("close image %q: %v", c.ID, e)}
		}
	}()
	facts, err = Inspect(ctx, c.ID, c.Env, c.Labels, files, labelNames)
	facts.Platform = c.Platform
	return facts, err
}
