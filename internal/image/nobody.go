package image

import (
	"context"
	"fmt"
)

// Nobody is an engine that shows nobody what is in its images, by its name, as a
// Source.
type Nobody struct{ Engine string }

// Config fails with ErrUninspectable.
func (n Nobody) Config(_ context.Context, ref string) (Config, error) {
	return Config{}, fmt.Errorf("inspect image %q: %w: not with %s", ref, ErrUninspectable, n.Engine)
}

// Open fails with ErrUninspectable.
func (n Nobody) Open(context.Context, Config) (Open, error) {
	return nil, fmt.Errorf("%w: not with %s", ErrUninspectable, n.Engine)
}
