// SPDX-License-Identifier: Apache-2.0

package cdispec

import (
	"context"
	"path"
	"slices"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/cdi"
	"github.com/metax-ctk/container-toolkit/internal/node"
	"github.com/metax-ctk/container-toolkit/internal/refresh"
)

// keepPause is the time until files that could not be written are tried again.
const keepPause = time.Minute

// Keep calls Write when a file that Write makes is gone, as when somebody empties the
// directory of the specs, until ctx ends. It looks after each interval, and tells what a Write
// came to.
func (w Writer) Keep(ctx context.Context, interval time.Duration, tell func(refresh.Generation, error)) {
	there := []string{cdi.Path(cdi.DefaultVendor, cdi.DefaultClass, cdi.JSON)} // which Write has made before a Keep
	for wait := interval; ; {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		wait = interval
		if slices.ContainsFunc(there, func(name string) bool { return !w.To.Exists(name) }) {
			done, err := w.Write(ctx)
			if ctx.Err() != nil {
				return
			}
			tell(done, err)
			if err != nil {
				wait = keepPause
				continue
			}
		}
		there = slices.DeleteFunc(w.files(), func(name string) bool { return !w.To.Exists(name) })
	}
}

// files are all that Write can make.
func (w Writer) files() []string {
	files := []string{node.RecordPath, path.Join(w.Dir, recordName), path.Join(w.Dir, hookName)}
	for _, class := range []string{cdi.DefaultClass, cdi.SliceClass, cdi.SoftwareClass} {
		files = append(files, cdi.Path(cdi.DefaultVendor, class, cdi.JSON))
	}
	return files
}
