// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/hook/inroot"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/jsontree"
)

// OpenRoot opens the root of the container with this bundle: root.path of its
// config.json, relative to the bundle or absolute. Bundle and root must be directories,
// not links, and config.json a regular file. Something must be mounted on the root, as
// in the container's own mount namespace (otherwise inroot.ErrNotMounted). In a user
// namespace that may not read the bundle, OpenRoot finds the root in the mount table.
func OpenRoot(bundle string) (*inroot.Root, error) {
	path, err := configuredRoot(bundle)
	if bundleHidden(err) {
		return mountedRoot()
	}
	if err != nil {
		return nil, err
	}
	root, err := inroot.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open container of bundle %s: %w", bundle, err)
	}
	if err := root.Mounted(); err != nil {
		root.Close()
		return nil, fmt.Errorf("open root %q of bundle %s: %w", path, bundle, err)
	}
	return root, nil
}

// ReadConfig returns the text of a bundle's config.json. Neither the bundle nor the
// file may be a link.
func ReadConfig(bundle string) ([]byte, error) {
	//nolint:gosec // G304: the runtime names its bundle in the state; a link there is not followed
	dir, err := os.OpenFile(bundle, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open bundle: %w", err)
	}
	held := inroot.At(dir)
	defer held.Close()
	// A link is not followed, not even inside the bundle.
	if info, err := held.Lstat("config.json"); err != nil {
		return nil, fmt.Errorf("read bundle %s: %w", bundle, err)
	} else if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("read bundle %s: config.json: %w", bundle, inroot.ErrNotRegular)
	}
	data, err := held.ReadFile("config.json", hostfs.MaxFile)
	if err != nil {
		return nil, fmt.Errorf("read bundle %s: %w", bundle, err)
	}
	return data, nil
}

func configuredRoot(bundle string) (string, error) {
	data, err := ReadConfig(bundle)
	if err != nil {
		return "", err
	}
	config, err := jsontree.Parse(data)
	if err != nil {
		return "", fmt.Errorf("parse config.json of bundle %s: %w", bundle, err)
	}
	return Rootfs(bundle, config.Root().At("root", "path").Text())
}

// Rootfs returns the path of a container's root, given root.path of its config.json: an
// absolute path, or one below the bundle.
func Rootfs(bundle, path string) (string, error) {
	switch {
	case path == "":
		return "", fmt.Errorf("parse config.json of bundle %s: it has no root.path", bundle)
	case filepath.IsAbs(path):
		return path, nil
	case filepath.Clean(path) == "." || !filepath.IsLocal(path):
		return "", fmt.Errorf("parse config.json of bundle %s: root.path %q is not below the bundle", bundle, path)
	}
	return filepath.Join(bundle, path), nil
}
