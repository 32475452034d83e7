// SPDX-License-Identifier: Apache-2.0

package mxmaca

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/discover/maca"
	"github.com/metax-ctk/container-toolkit/k8s/internal/agent/payload"
)

// The directories of this package in /opt of the host. A record, maca-VERSION.json, says that
// the operator installed a version; it is written before the version is there.
const (
	Dir        = ".metax-maca"
	stagingDir = Dir + "/staging"
	trashDir   = Dir + "/trash"   // versions that are removed unless a container has got them
	removedDir = Dir + "/removed" // what is left of versions that are being removed
)

// store is /opt of the host.
type store struct{ root *os.Root }

// installed is a version that the operator installed.
type installed struct {
	version string
	at      time.Time
}

// readStaged returns what the Copiers made, in the order of the images.
func (s store) readStaged() (all []Staged, err error) {
	files, err := fs.Glob(s.root.FS(), path.Join(stagingDir, "*", stagedFile))
	if err != nil {
		return nil, err
	}
	// by number
	slices.SortFunc(files, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
	for _, file := range files {
		text, err := s.root.ReadFile(file)
		one := Staged{dir: path.Dir(file)}
		if err == nil {
			err = json.Unmarshal(text, &one)
		}
		if err == nil && one.Reason == "" && !word.MatchString(one.Version) {
			err = fmt.Errorf("%.80q is not a version", one.Version)
		}
		if err != nil {
			return nil, fmt.Errorf("read what was copied: %s: %w", file, err)
		}
		all = append(all, one)
	}
	return all, nil
}

// installVersion makes a version of what was copied into a directory. A version that is there
// stays as it is.
func (s store) installVersion(dir, version string) error {
	if info, err := s.root.Lstat(prefix + version); err == nil {
		if !info.IsDir() {
			return &Error{
				HostMACA,
				fmt.Errorf("%s/%s%s of the host is in the way: it is not a directory", parent, prefix, version),
			}
		}
		return nil
	}
	from := path.Join(dir, treeDir)
	tree, err := s.root.OpenRoot(from)
	if err != nil {
		return fmt.Errorf("find what was copied: %w", err)
	}
	defer tree.Close()
	if err := payload.Check(tree); err != nil {
		return err
	}
	if err := s.sync(from); err != nil {
		return err
	}
	if err := s.root.WriteFile(s.record(version), []byte("{}\n"), 0o644); err != nil {
		return fmt.Errorf("record the version %s: %w", version, err)
	}
	if err := s.root.Rename(from, prefix+version); err != nil {
		return fmt.Errorf("install the version %s: %w", version, err)
	}
	return s.sync(".")
}

func (s store) record(version string) string { return path.Join(Dir, prefix+version+".json") }

// sync waits until the disk has everything that was written to the file system.
func (s store) sync(name string) error {
	dir, err := s.root.Open(name)
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := unix.Syncfs(int(dir.Fd())); err != nil {
		return fmt.Errorf("wait for the disk of %s: %w", parent, err)
	}
	return nil
}

// installedVersions are those that the operator installed and that are still there.
func (s store) installedVersions() (all []installed, err error) {
	records, err := fs.Glob(s.root.FS(), Dir+"/"+prefix+"*.json")
	if err != nil {
		return nil, err
	}
	for _, record := range records {
		version := strings.TrimSuffix(strings.TrimPrefix(path.Base(record), prefix), ".json")
		info, err := s.root.Lstat(prefix + version)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		at, failed := s.root.Lstat(record)
		if err := errors.Join(err, failed); err != nil {
			return nil, fmt.Errorf("read the installed versions: %w", err)
		}
		if info.IsDir() {
			all = append(all, installed{version, at.ModTime()})
		}
	}
	return all, nil
}

// linkVersion makes /opt/maca a link to a version. Anything there that leads to something
// which the operator did not install stays, with HostMACA.
func (s store) linkVersion(version string) error {
	link, target := path.Base(maca.Path), path.Join(parent, prefix+version)
	info, err := s.root.Lstat(link)
	if err == nil && info.Mode()&fs.ModeSymlink == 0 {
		return &Error{
			HostMACA,
			fmt.Errorf("%s of the host is not a link; containers get that MXMACA. Remove it for %s", maca.Path, version),
		}
	}
	if err == nil {
		now, err := s.root.Readlink(link)
		if err != nil {
			return err
		}
		if !path.IsAbs(now) {
			now = path.Join(parent, now)
		}
		if now = path.Clean(now); now == target {
			return nil
		}
		if foreign, err := s.foreign(now); err != nil || foreign {
			return errors.Join(err, &Error{HostMACA, fmt.Errorf(
				"%s of the host leads to %s, which the operator did not install; containers get that MXMACA. Remove the link for %s", maca.Path, now, version)})
		}
	}
	part := path.Join(Dir, "link")
	if err := s.root.Remove(part); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := s.root.Symlink(target, part); err != nil {
		return err
	}
	if err := s.root.Rename(part, link); err != nil {
		return fmt.Errorf("make the link %s: %w", maca.Path, err)
	}
	return s.sync(".")
}

// isLinkedVersion reports whether /opt/maca leads to a version that the operator installed.
func (s store) isLinkedVersion(version string) bool {
	target, err := s.root.Readlink(path.Base(maca.Path))
	return err == nil && path.Base(target) == prefix+version
}

// foreign reports whether a path is there that the operator did not install. Outside of /opt
// it counts as there.
func (s store) foreign(at string) (bool, error) {
	if path.Dir(at) != parent {
		return true, nil
	}
	if _, err := s.root.Lstat(path.Base(at)); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	all, err := s.installedVersions()
	for _, i := range all {
		if prefix+i.version == path.Base(at) {
			return false, err
		}
	}
	return true, err
}

// moveToTrash takes a version away, at once for everybody who looks for it. In the trash it
// has the name by which its uses are found.
func (s store) moveToTrash(version string) error {
	if err := s.root.MkdirAll(trashDir, 0o700); err != nil {
		return err
	}
	if err := s.root.Rename(prefix+version, path.Join(trashDir, prefix+version)); err != nil {
		return fmt.Errorf("remove the version %s: %w", version, err)
	}
	return nil
}

// trashedVersions are the versions in the trash.
func (s store) trashedVersions() (versions []string, err error) {
	all, err := fs.Glob(s.root.FS(), path.Join(trashDir, prefix+"*"))
	for _, at := range all {
		versions = append(versions, strings.TrimPrefix(path.Base(at), prefix))
	}
	return versions, err
}

// putBack undoes discard. If the version was installed again, its files stay in the trash as
// long as they are used.
func (s store) putBack(version string) error {
	if _, err := s.root.Lstat(prefix + version); err == nil {
		return nil
	}
	if err := s.root.Rename(path.Join(trashDir, prefix+version), prefix+version); err != nil {
		return fmt.Errorf("put the version %s back: %w", version, err)
	}
	return nil
}

// deleteTrashed removes the files of a discarded version. After a kill, half a version is not
// in the trash.
func (s store) deleteTrashed(version string) error {
	err := errors.Join(s.root.RemoveAll(removedDir), s.root.Mkdir(removedDir, 0o700))
	if err == nil {
		err = s.root.Rename(path.Join(trashDir, prefix+version), path.Join(removedDir, prefix+version))
	}
	if err == nil {
		err = s.root.RemoveAll(removedDir)
	}
	if err != nil {
		return fmt.Errorf("remove the version %s: %w", version, err)
	}
	return nil
}

// removeLeftovers removes what a killed agent left, and records of nothing.
func (s store) removeLeftovers() error {
	errs := []error{s.root.RemoveAll(removedDir)}
	if err := s.root.Remove(trashDir); !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, unix.ENOTEMPTY) {
		errs = append(errs, err)
	}
	records, err := fs.Glob(s.root.FS(), Dir+"/"+prefix+"*.json")
	errs = append(errs, err)
	for _, record := range records {
		if _, err := s.root.Lstat(strings.TrimSuffix(path.Base(record), ".json")); errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, s.root.Remove(record))
		}
	}
	return errors.Join(errs...)
}
