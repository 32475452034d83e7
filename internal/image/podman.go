// SPDX-License-Identifier: Apache-2.0

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
	// Run runs podman and returns its standard output. It fails for any exit code
	// except 0, with the end of podman's standard error.
	Run func(ctx context.Context, args ...string) ([]byte, error)
	// Dir is a directory for the record of the mounted image, so that an image that a
	// killed process left mounted is unmounted when the next one is opened. If it is
	// empty, there is no record.
	Dir string
}

// Config queries podman for an image.
func (p Podman) Config(ctx context.Context, ref string) (Config, error) {
	if err := isRoot(); err != nil {
		return Config{}, fmt.Errorf("inspect image %q: %w", ref, err)
	}
	text, err := p.Run(ctx, "image", "inspect", "--", ref)
	if err != nil {
		if said := strings.ToLower(err.Error()); strings.Contains(said, "image not known") ||
			strings.Contains(said, "no such image") {
			err = fmt.Errorf("%w: %w", ErrNotFound, err)
		}
		return Config{}, fmt.Errorf("inspect image %q: %w", ref, err)
	}
	var list []dockerd.Image // podman uses docker's format
	if err := json.Unmarshal(text, &list); err != nil {
		return Config{}, fmt.Errorf("inspect image %q: read podman's answer: %w", ref, err)
	}
	if len(list) != 1 || list[0].ID == "" {
		return Config{}, fmt.Errorf("inspect image %q: podman returned %d images, or one without an ID", ref, len(list))
	}
	c := configOf(list[0])
	c.ID = "sha256:" + strings.TrimPrefix(c.ID, "sha256:")
	return c, nil
}

// Open makes podman mount the image.
func (p Podman) Open(ctx context.Context, c Config) (OpenImage, error) {
	if err := isRoot(); err != nil {
		return nil, err
	}
	record, err := p.openRecord(ctx)
	if err != nil {
		return nil, err
	}
	o := &podmanFiles{podman: p, ctx: context.WithoutCancel(ctx), id: strings.TrimPrefix(c.ID, "sha256:"), record: record}
	if err := record.write(o.id); err != nil {
		return nil, errors.Join(err, record.close())
	}
	if o.root, err = p.mount(ctx, o.id); err != nil {
		return nil, errors.Join(err, o.Close())
	}
	return o, nil
}

// isRoot fails for other users, whose images podman keeps elsewhere and does not mount.
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
		return nil, fmt.Errorf("mount image: podman printed %.200q instead of a directory", dir)
	}
	return hostfs.New(dir)
}

// podmanFiles are the files below a mounted image.
type podmanFiles struct {
	podman Podman
	ctx    context.Context // never done
	id     string
	record *mountRecord
	root   *hostfs.Root // nil if the mount failed
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

// Close makes podman unmount the image, unless others have also mounted it.
func (o *podmanFiles) Close() error {
	ctx, stop := context.WithTimeout(o.ctx, cleanupTimeout)
	defer stop()
	_, err := o.podman.Run(ctx, "image", "unmount", o.id)
	if err != nil {
		// The record stays, so that the next process unmounts the image.
		return errors.Join(fmt.Errorf("unmount image: %w", err), o.record.close())
	}
	return errors.Join(o.record.erase(), o.record.close())
}
