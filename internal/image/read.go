// SPDX-License-Identifier: Apache-2.0

package image

import (
	"context"
	"errors"
	"fmt"
)

// Config is an engine's description of an image, without its files.
type Config struct {
	ID       string // "sha256:…"
	Platform string // "linux/amd64"
	Env      []string
	Labels   map[string]string
	Volumes  []string // directories that the image declares as volumes
	copies   bool     // whether a container of it would be a copy of all its files
}

// Source is an engine with images.
type Source interface {
	// Config returns the image that the engine would run for a reference; ErrNotFound
	// if it does not have it.
	Config(ctx context.Context, ref string) (Config, error)
	// Open makes an image's files readable until Close. It fails with ErrUninspectable
	// if the engine cannot do that.
	Open(ctx context.Context, c Config) (OpenImage, error)
}

// OpenImage is an image whose files can be read until Close.
type OpenImage interface {
	Files
	// Close removes what was created for reading, also if the context is done. After
	// ErrVanished the facts that were read are invalid; after any other error the temporary
	// container or mount remains, and opening the next image removes it.
	Close() error
}

// ErrVanished reports that another program has removed what was created for reading.
var ErrVanished = errors.New("removed while it was read")

// Read returns the facts of the image that the source would run for a reference, from
// the cache if it has them. It fails with ErrNotFound, ErrUninspectable, or an error of
// the engine. labelNames are as for Inspect.
func Read(ctx context.Context, source Source, ref string, cache Cache, labelNames []string) (Facts, error) {
	c, err := source.Config(ctx, ref)
	if err != nil {
		return Facts{}, err
	}
	key := keyOf(c, labelNames)
	facts, ok := cache.Get(key)
	if !ok {
		if facts, err = inspect(ctx, source, c, labelNames); err != nil {
			return Facts{}, err
		}
		facts.Uncached = cache.Put(key, facts)
		facts.Warnings = append(facts.Warnings, facts.cleanupFailures...)
	}
	return facts.with(c), nil
}

// Peek is Read without opening the image, so that it is fast and creates nothing. Read
// reports whether the cache has the facts; otherwise only Env, Labels and Volumes are
// known.
func Peek(ctx context.Context, source Source, ref string, cache Cache,
	labelNames []string,
) (facts Facts, read bool, err error) {
	c, err := source.Config(ctx, ref)
	if err != nil {
		return Facts{}, false, err
	}
	facts, read = cache.Get(keyOf(c, labelNames))
	return facts.with(c), read, nil
}

func keyOf(c Config, labelNames []string) Key {
	return Key{ID: c.ID, Platform: c.Platform, Labels: labelNames}
}

// with adds what only the engine's description has.
func (f Facts) with(c Config) Facts {
	f.ID, f.Platform, f.Env, f.Labels, f.Volumes = c.ID, c.Platform, c.Env, c.Labels, c.Volumes
	return f
}

// inspect is Inspect with the source's files.
func inspect(ctx context.Context, source Source, c Config, labelNames []string) (facts Facts, err error) {
	files, err := source.Open(ctx, c)
	if err != nil {
		return Facts{}, fmt.Errorf("open image %q: %w", c.ID, err)
	}
	defer func() {
		e := files.Close()
		switch {
		case e == nil: // closed
		case err != nil || errors.Is(e, ErrVanished):
			facts, err = Facts{}, errors.Join(err, fmt.Errorf("close image %q: %w", c.ID, e))
		default:
			facts.cleanupFailures = []string{fmt.Sprintf("close image %q: %v", c.ID, e)}
		}
	}()
	facts, err = Inspect(ctx, c.ID, c.Env, c.Labels, files, labelNames)
	facts.Platform = c.Platform
	return facts, err
}

// Unreadable is a Source for an engine, given by its name, that cannot show the files
// of its images.
type Unreadable struct{ Engine string }

// Config fails with ErrUninspectable.
func (n Unreadable) Config(_ context.Context, ref string) (Config, error) {
	return Config{}, fmt.Errorf("inspect image %q: %w: not with %s", ref, ErrUninspectable, n.Engine)
}

// Open fails with ErrUninspectable.
func (n Unreadable) Open(context.Context, Config) (OpenImage, error) {
	return nil, fmt.Errorf("%w: not with %s", ErrUninspectable, n.Engine)
}
