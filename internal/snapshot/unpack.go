// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/hostfs/hosttree"
)

// Unpack writes the tree to a new directory that only this user can enter, and returns
// its path and a function that removes it. Devices are written as files with a tag, and
// no link is followed.
func (s Snapshot) Unpack() (dir string, remove func() error, err error) {
	dir, err = os.MkdirTemp("", "metax-ctk-node-")
	if err != nil {
		return "", nil, fmt.Errorf("unpack snapshot: %w", err)
	}
	remove = func() error {
		if err := os.RemoveAll(dir); err != nil {
			return fmt.Errorf("remove unpacked snapshot: %w", err)
		}
		return nil
	}
	// Paths that the kernel reports for files in this directory have no links in them.
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	tree := maps.Clone(s.Tree)
	for p, e := range tree {
		if d, ok := e.(hosttree.Dir); ok && d.Perm != 0 {
			tree[p] = hosttree.Dir{Perm: d.Perm | 0o700} // otherwise only root could remove it
		}
	}
	if err := tree.WriteInert(dir); err != nil {
		return "", nil, errors.Join(fmt.Errorf("unpack snapshot: %w", err), remove())
	}
	return dir, remove, nil
}

// Unrooted removes the path of an unpacked tree from a text about it, so that paths are
// the host's.
func Unrooted(dir, text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, dir+"/", "/"), dir, "/")
}
