package image

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/dockerd"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
)

// Podman is Podman, run by root, as a Source. The files of an image are read where
// Podman mounts it, read-only.
type Podman struct {
	// Run runs podman and returns what it prints. It fails for another exit code
	// than 0, and its error has the end of what podman said.
	Run func(ctx context.Context, args ...string) ([]byte, error)
	// Dir is a directory for a note of what is mounted, so that what a killed
	// process has left is unmounted when the next image is opened. Without it,
	// nothing is.
	Dir string
}

// Config asks podman for an image.
func (p Podman) Config(ctx context.Context, ref string) (Config, error) {
	if err := isRoot(); err != nil {
		return Config{}, fmt.Errorf("inspect image %q: %w", ref, err)
	}
	text, err := p.Run(ctx, "image", "inspect", "--", ref)
	if err != nil {
		if said := strings.ToLower(err.Error()); strings.Contains(said, "image not known") || strings.Contains(said, "no such image") {
			err = fmt.Errorf("%w: %w", ErrNotFound, err)
		}
		return Config{}, fmt.Errorf("inspect image %q: %w", ref, err)
	}
	var list []dockerd.Image // podman tells it in docker's words
	if err := json.Unmarshal(text, &list); err != nil {
		return Config{}, fmt.Errorf("inspect image %q: read podman's answer: %w", ref, err)
	}
	if len(list) != 1 || list[0].ID == "" {
		return Config{}, fmt.Errorf("inspect image %q: podman tells of %d images, or of one without an ID", ref, len(list))
	}
	c := configOf(list[0])
	c.ID = "sha256:" + strings.TrimPrefix(c.ID, "sha256:")
	return c, nil
}

// Open has podman mount the image.
func (p Podman) Open(ctx context.Context, c Config) (Open, error) {
	if err := isRoot(); err != nil {
		return nil, err
	}
	note, err := p.note(ctx)
	if err != nil {
		return nil, err
	}
	o := &podmanFiles{podman: p, ctx: context.WithoutCancel(ctx), id: strings.TrimPrefix(c.ID, "sha256:"), note: note}
	if err := note.write(o.id); err != nil {
		return nil, errors.Join(err, note.close())
	}
	if o.root, err = p.mount(ctx, o.id); err != nil {
		return nil, errors.Join(err, o.Close())
	}
	return o, nil
}

// isRoot fails for anybody else, whose images podman keeps elsewhere and mounts
// nowhere.
func isRoot() error {
	if os.Geteuid() != 0 {
		return fmt.Errorf("%w: podman mounts an image for root alone", ErrUninspectable)
	}
	return nil
}

func (p Podman) mount(ctx context.Context, id string) (*hostfs.Root, error) {
	text, err := p.Run(ctx, "image", "mount", id)
	if err != nil {
		return nil, fmt.Errorf("mount image: %w", err)
	}
	dir := strings.TrimSpace(string(text))
	if !filepath.IsAbs(dir) || filepath.Clean(dir) == "/" || strings.ContainsAny(dir, "\n") {
		return nil, fmt.Errorf("mount image: podman does not say where, but %.200q", dir)
	}
	return hostfs.New(dir)
}

// podmanFiles are those below a mounted image.
type podmanFiles struct {
	podman Podman
	ctx    context.Context // never done
	id     string
	note   *note
	root   *hostfs.Root // nil where the mount failed
}

func (o *podmanFiles) Stat(ctx context.Context, path string) (Stat, error) {
	if ctx.Err() != nil {
		return Stat{}, context.Cause(ctx)
	}
	e, err := o.root.Lstat(path)
	return Stat{Mode: e.Mode, Size: e.Size, Target: e.Target}, err
}

func (o *podmanFiles) File(ctx context.Context, path string, max int64) ([]byte, error) {
	stat, err := o.Stat(ctx, path)
	if err != nil {
		return nil, err
	}
	if !stat.Mode.IsRegular() {
		return nil, fmt.Errorf("read %s: %w", o.root.Join(path), ErrNotRegular)
	}
	f, err := o.root.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, max+1))
	if err == nil && int64(len(data)) > max {
		err = fmt.Errorf("read %s: %w: over %d bytes", o.root.Join(path), ErrTooLarge, max)
	}
	return data, err
}

// Close has podman unmount the image, unless others have it mounted, too.
func (o *podmanFiles) Close() error {
	ctx, stop := context.WithTimeout(o.ctx, clearing)
	defer stop()
	_, err := o.podman.Run(ctx, "image", "unmount", o.id)
	if err != nil {
		// The note stays, for the next one.
		return errors.Join(fmt.Errorf("unmount image: %w", err), o.note.close())
	}
	return errors.Join(o.note.erase(), o.note.close())
}
