// SPDX-License-Identifier: Apache-2.0

package mxmaca

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/metax-ctk/container-toolkit/internal/atomicfile"
	"github.com/metax-ctk/container-toolkit/internal/discover/maca"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/k8s/internal/agent/payload"
)

// Staged is what a Copier made of one payload image. Its file is beside the copy.
type Staged struct {
	Image   string `json:"image"`
	Version string `json:"version,omitempty"`
	// Reason and Message say why there is no copy. There is none either of a version that the
	// host has.
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`

	dir string // in the host's /opt
}

const (
	stagedFile = "payload.json"
	treeDir    = "tree"
)

// Copier copies the MXMACA of a payload image.
type Copier struct {
	Image string       // reference of the image, for messages
	Root  *hostfs.Root // of the image
	Opt   string       // the host's /opt, to see which versions are there
	Dir   string       // for the result: a number, by which results are in order
	Limit int64        // bytes of an installation
	Keep  int64        // percent of the file system of Dir that stays free; KeepFree on a host
}

// maxEntries bounds the files, directories and links of a payload; a real one has some ten
// thousand.
const maxEntries = 1 << 20

// Run copies, and says in a file what came of it. It fails only if that file cannot be
// written: what is wrong with one image must not keep the others from being copied.
func (c Copier) Run(ctx context.Context) (Staged, error) {
	staged := Staged{Image: c.Image}
	version, err := c.copy(ctx)
	if ctx.Err() != nil {
		return staged, ctx.Err()
	}
	staged.Version = version
	if err != nil {
		staged.Reason, staged.Message = reasonOf(err), err.Error()
		if err := os.RemoveAll(filepath.Join(c.Dir, treeDir)); err != nil {
			return staged, err
		}
	}
	text, err := json.Marshal(staged)
	if err != nil {
		return staged, err
	}
	_, err = atomicfile.Write(filepath.Join(c.Dir, stagedFile), text, atomicfile.Options{Perm: 0o644})
	return staged, err
}

func reasonOf(err error) string {
	var known *Error
	var invalid payload.Invalid
	switch {
	case errors.As(err, &known):
		return known.Reason
	case errors.As(err, &invalid):
		return BadPayload
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return NoSpace
	}
	return Failed
}

// copy returns the version.
func (c Copier) copy(ctx context.Context) (string, error) {
	dir, version, err := findMACA(c.Root)
	if err != nil {
		return "", err
	}
	if _, err := os.Lstat(filepath.Join(c.Opt, prefix+version)); err == nil {
		return version, nil
	}
	from, err := os.OpenRoot(c.Root.Join(dir))
	if err != nil {
		return version, fmt.Errorf("read MXMACA of the image: %w", err)
	}
	defer from.Close()
	at := filepath.Join(c.Dir, treeDir)
	if err := os.RemoveAll(at); err != nil { // of a copy that was killed
		return version, err
	}
	if err := atomicfile.MakeDir(at, 0o755); err != nil {
		return version, err
	}
	to, err := os.OpenRoot(at)
	if err != nil {
		return version, err
	}
	defer to.Close()
	limit := payload.Limit{
		Bytes: c.Limit, Option: "maca.maxGiB", Entries: maxEntries,
		Fits: func(bytes, entries int64) error { return checkFreeSpace(filepath.Dir(c.Dir), bytes, entries, c.Keep) },
	}
	return version, payload.Copy(ctx, limit, payload.Tree{From: from, Path: dir, Alias: maca.Path, To: to})
}
