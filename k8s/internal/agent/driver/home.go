// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/k8s/internal/agent/payload"
)

// The user-space part of the driver is at /opt/mxdriver: a link to a directory beside it with
// the ID of the payload in its name, so that it is replaced whole. A directory that the host
// has there itself is kept under another name.
const (
	homeLink = "mxdriver"
	hostHome = "mxdriver.host"
	part     = ".part"
)

var ownHome = regexp.MustCompile(`^mxdriver-[0-9a-f]{16}(\.part)?$`)

// openOpt opens the host's /opt.
func openOpt(host *hostfs.Root) (*os.Root, error) {
	place, err := host.Place("/" + homeDir)
	if err != nil {
		return nil, err
	}
	return os.OpenRoot(filepath.Dir(place))
}

// installHome makes the user-space part of a payload, which is in dir, that of the host. It
// does nothing if it is.
func installHome(host *hostfs.Root, dir, id string) error { return writeHome(host, dir, id, true) }

// unpackHome writes the user-space part of a payload beside that of the host, if it is not
// there.
func unpackHome(host *hostfs.Root, dir, id string) error { return writeHome(host, dir, id, false) }

func writeHome(host *hostfs.Root, dir, id string, use bool) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("write the driver's files of /%s: %w", homeDir, err)
		}
	}()
	opt, err := openOpt(host)
	if err != nil {
		return err
	}
	defer opt.Close()
	name := "mxdriver-" + id
	if _, err := opt.Lstat(name); errors.Is(err, fs.ErrNotExist) {
		if err := unpack(opt, dir, name); err != nil {
			return err
		}
	} else if err != nil {
		return err
	}
	if !use {
		return nil
	}
	return link(opt, name)
}

// unpack makes the directory name with the files of a payload: all of them, or nothing of that
// name.
func unpack(opt *os.Root, dir, name string) error {
	from, err := os.OpenRoot(filepath.Join(dir, homeDir))
	if err != nil {
		return err
	}
	defer from.Close()
	if err := errors.Join(opt.RemoveAll(name+part), opt.Mkdir(name+part, 0o755)); err != nil {
		return err
	}
	to, err := opt.OpenRoot(name + part)
	if err != nil {
		return err
	}
	defer to.Close()
	// It goes on when the agent is stopped: a node is not left without a driver.
	if err := payload.Copy(context.Background(), limit,
		payload.Tree{From: from, Path: "/" + homeDir, To: to}); err != nil {
		return errors.Join(err, opt.RemoveAll(name+part))
	}
	at, err := opt.Open(".")
	if err != nil {
		return err
	}
	defer at.Close()
	if err := unix.Syncfs(int(at.Fd())); err != nil {
		return fmt.Errorf("wait for the disk: %w", err)
	}
	return opt.Rename(name+part, name)
}

// link makes the link to a directory, in place of what is there.
func link(opt *os.Root, name string) error {
	now, err := opt.Lstat(homeLink)
	switch {
	case errors.Is(err, fs.ErrNotExist): // nothing is there
	case err != nil:
		return err
	default:
		target, err := opt.Readlink(homeLink)
		if err == nil && target == name {
			return nil
		}
		if now.Mode()&fs.ModeSymlink == 0 || !ownHome.MatchString(target) {
			if _, err := opt.Lstat(hostHome); !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("the host has a driver in /opt/%s again, and an older one in /opt/%s: remove one", homeLink,
					hostHome)
			}
			if err := opt.Rename(homeLink, hostHome); err != nil {
				return err
			}
		}
	}
	next := name + ".link"
	if err := opt.RemoveAll(next); err != nil {
		return err
	}
	if err := opt.Symlink(name, next); err != nil {
		return err
	}
	return opt.Rename(next, homeLink)
}

// restoreHome puts the host's own directory back, in place of a link to that of a payload.
func restoreHome(host *hostfs.Root) error {
	opt, err := openOpt(host)
	if err != nil {
		return err
	}
	defer opt.Close()
	if _, err := opt.Lstat(hostHome); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	target, err := opt.Readlink(homeLink)
	switch {
	case errors.Is(err, fs.ErrNotExist): // removed before a kill
	case err != nil || !ownHome.MatchString(target):
		return nil // the host's
	default:
		if err := opt.Remove(homeLink); err != nil {
			return err
		}
	}
	return opt.Rename(hostHome, homeLink)
}

// pruneHomes removes the user-space parts of other payloads.
func pruneHomes(host *hostfs.Root, id string) error {
	opt, err := openOpt(host)
	if err != nil {
		return err
	}
	defer opt.Close()
	entries, err := fs.ReadDir(opt.FS(), ".")
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if ownHome.MatchString(entry.Name()) && entry.Name() != "mxdriver-"+id {
			if err := opt.RemoveAll(entry.Name()); err != nil {
				return fmt.Errorf("remove the files of an old driver: %w", err)
			}
		}
	}
	return nil
}
