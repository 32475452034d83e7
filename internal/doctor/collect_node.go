// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/discover"
	"github.com/metax-ctk/container-toolkit/internal/discover/maca"
	"github.com/metax-ctk/container-toolkit/internal/discover/mxsmi"
	"github.com/metax-ctk/container-toolkit/internal/discover/mxsml"
	"github.com/metax-ctk/container-toolkit/internal/discover/mxsml/installed"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// calls records the programs that were run. It needs the mutex because a program that
// cannot be cancelled may end after its caller has gone.
type calls struct {
	sync.Mutex
	all []Call
}

func (c *calls) add(began time.Time, command []string, err error) {
	call := Call{Command: strings.Join(command, " "), Took: time.Since(began)}
	if err != nil {
		call.Err = err.Error()
	}
	c.Lock()
	defer c.Unlock()
	c.all = append(c.all, call)
}

func (c *calls) list() []Call {
	c.Lock()
	defer c.Unlock()
	return slices.Clone(c.all)
}

func nodeFacts(ctx context.Context, c Config, _ *Facts) (func(*Facts), error) {
	var n Node
	var library, smi calls
	var unusable atomic.Bool
	host := discover.Host{Root: c.Root, Timeout: vendorTimeout}
	if text, err := c.Root.ReadFile(c.RecordPath); err == nil {
		// As in cdi generate; the check record reports one that cannot be read.
		if record, err := gpu.DecodeNode(text); err == nil {
			host.Recorded = &record
		}
	}
	if c.Library != nil {
		host.Library = func(ctx context.Context, args ...string) ([]byte, error) {
			began := time.Now()
			out, err := c.Library(ctx, args...)
			if a, failed := mxsml.Decode(out); failed == nil && a.Failure != nil && a.Failure.Unusable {
				// The file is not the vendor's library, so it counts as missing.
				unusable.Store(true)
				return out, err
			}
			library.add(began, append([]string{"metax-mxsml"}, args...), err)
			return out, err
		}
	}
	if c.SMI != nil {
		host.Run = func(ctx context.Context, program string, args ...string) ([]byte, error) {
			began := time.Now()
			out, err := c.SMI(ctx, program, args...)
			if err != nil && ctx.Err() == nil && slices.Contains(args, mxsmi.VersionQuery) {
				return out, err // an older mx-smi
			}
			smi.add(began, append([]string{program}, args...), err)
			return out, err
		}
	}
	node, sources, err := host.DiscoverSources(ctx)
	if errors.Is(err, discover.ErrNoGPU) {
		err = nil // the check gpu-present reports it
	} else if err == nil {
		n.Node, n.Known, n.Sources = node, true, sources
	}
	n.Unusable = unusable.Load()
	n.Library, n.SMI = library.list(), smi.list()
	return func(f *Facts) { f.Node = n }, err
}

func softwareFacts(_ context.Context, c Config, _ *Facts) (func(*Facts), error) {
	s := Software{Rules: c.Rules}
	_, s.Library = installed.Library(c.Root)
	_, s.SMI = c.Root.First(mxsmi.Paths())
	found := maca.Read(c.Root)
	s.Driver = found.Driver != ""
	if found.MACA != nil {
		s.MACA, s.Version = true, found.MACA.Version
	}
	if e, err := c.Root.Lstat(maca.Path); err == nil && e.Mode&fs.ModeSymlink != 0 {
		s.Link, s.Dangling = e.Target, !c.Root.Exists(maca.Path)
	}
	names, _ := c.Root.ReadDir(path.Dir(maca.Path)) // an error means no /opt
	for _, name := range names {
		if strings.HasPrefix(name, path.Base(maca.Path)+"-") && c.Root.Exists(path.Join(path.Dir(maca.Path), name, "lib")) {
			s.Others = append(s.Others, path.Join(path.Dir(maca.Path), name))
		}
	}
	return func(f *Facts) { f.Software = s }, nil
}

func recordFacts(_ context.Context, c Config, _ *Facts) (func(*Facts), error) {
	r := Record{Path: c.RecordPath}
	text, err := c.Root.ReadFile(c.RecordPath)
	switch {
	case errors.Is(err, fs.ErrNotExist): // there is no record
	case err != nil:
		r.Present, r.Err = true, err.Error()
	default:
		r.Present = true
		if r.Node, err = gpu.DecodeNode(text); err != nil {
			r.Err = err.Error()
		}
		r.Early = !c.Trimmed && beforeBoot(c.Root, c.RecordPath)
	}
	return func(f *Facts) { f.Record = r }, nil
}
