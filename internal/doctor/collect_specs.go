// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	specs "tags.cncf.io/container-device-interface/specs-go"

	"github.com/metax-ctk/container-toolkit/internal/cdi"
	"github.com/metax-ctk/container-toolkit/internal/discover/maca"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
)

// classes are the classes of the toolkit's kinds.
var classes = []string{cdi.DefaultClass, cdi.SliceClass, cdi.SoftwareClass}

func specFacts(_ context.Context, c Config, _ *Facts) (func(*Facts), error) {
	s := Specs{Dirs: c.SpecDirs, Listing: cdi.List(c.Root, c.SpecDirs, "")}
	if !c.Trimmed {
		s.Missing = slices.DeleteFunc(slices.Clone(c.SpecDirs), c.Root.Exists)
	}
	for _, file := range s.Files {
		if !isOurKind(file.Kind) || file.Error != "" || file.IsForeign() {
			continue
		}
		spec, err := cdi.Load(c.Root, file.Path)
		if err != nil {
			continue // it is gone since, or the listing has its error
		}
		own := Spec{
			Path: file.Path, Kind: file.Kind, Version: spec.Version, Priority: file.Priority,
			Groups: hasGroups(spec), Names: cdi.NamesOf(spec), EngineRoot: engineRoot(spec, c.Root), spec: spec,
		}
		if !c.Trimmed {
			own.Problems = cdi.Check(spec, c.Root, own.EngineRoot)
		}
		for _, other := range s.Ours {
			if other.Kind == own.Kind && other.Priority != own.Priority && len(cdi.Diff(other.spec, spec)) == 0 {
				own.Same = append(own.Same, other.Path)
			}
		}
		s.Ours = append(s.Ours, own)
	}
	return func(f *Facts) { f.Specs = s }, nil
}

func isOurKind(kind string) bool {
	return slices.ContainsFunc(classes, func(class string) bool { return kind == cdi.Kind(cdi.DefaultVendor, class) })
}

// hasGroups reports whether a spec adds groups to a container.
func hasGroups(spec *specs.Spec) bool {
	return slices.ContainsFunc(editsOf(spec), func(e *specs.ContainerEdits) bool { return len(e.AdditionalGIDs) > 0 })
}

// editsOf are the edits of the whole spec and of each device.
func editsOf(spec *specs.Spec) []*specs.ContainerEdits {
	edits := []*specs.ContainerEdits{&spec.ContainerEdits}
	for i := range spec.Devices {
		edits = append(edits, &spec.Devices[i].ContainerEdits)
	}
	return edits
}

// engineRoot is where the spec's engine sees the host's files: below the root's own
// directory, or at "/".
func engineRoot(spec *specs.Spec, host *hostfs.Root) string {
	below := func(p string) bool { return strings.HasPrefix(p, host.Dir()+"/") }
	for _, e := range editsOf(spec) {
		if slices.ContainsFunc(e.DeviceNodes, func(n *specs.DeviceNode) bool { return below(n.HostPath) }) ||
			slices.ContainsFunc(e.Mounts, func(m *specs.Mount) bool { return below(m.HostPath) }) {
			return host.Dir()
		}
	}
	return "/"
}

// driftFacts compares the specs with the node. It does nothing if the driver is not up.
func driftFacts(_ context.Context, c Config, known *Facts) (func(*Facts), error) {
	s := known.Specs
	if c.Want == nil || !known.Node.Known || !known.driverUp() {
		return nil, nil
	}
	node := known.Node.Node
	s.Names = cdiNames(node)
	s.Unresolved = map[string][]string{}
	for _, e := range known.Engines.allInstalled() {
		dirs, _ := known.dirsOf(e)
		s.Unresolved[e.Name] = unresolved(c.Root, dirs, s.Names)
	}
	s.Ours = append([]Spec(nil), s.Ours...)
	var failed error
	for i := range s.Ours {
		own := &s.Ours[i]
		_, class, _ := strings.Cut(own.Kind, "/")
		opt := cdi.Options{
			Class: class, Names: own.Names, NoGroups: !own.Groups, EngineRoot: own.EngineRoot, Partial: true,
		}
		want, err := c.Want(node, opt)
		switch {
		case errors.Is(err, cdi.ErrNoSlices), errors.Is(err, cdi.ErrDivided), errors.Is(err, maca.ErrNone), errors.Is(err,
			cdi.ErrNoDevices):
			own.Removed = true
		case errors.Is(err, cdi.ErrNoHook):
			// A spec of the software needs metax-hook; the check programs reports that it is
			// missing.
		case err != nil:
			failed = fmt.Errorf("make the spec of kind %s: %w", own.Kind, err)
		default:
			if c.Trimmed { // a snapshot does not have the programs
				own.Drift = cdi.Diff(cdi.WithoutHooks(own.spec), cdi.WithoutHooks(want))
			} else {
				own.Drift = cdi.Diff(own.spec, want)
			}
		}
	}
	return func(f *Facts) { f.Specs = s }, failed
}

// unresolved are the names that an engine which reads dirs does not resolve.
func unresolved(host *hostfs.Root, dirs, names []string) []string {
	found := map[string]bool{}
	for _, d := range cdi.List(host, dirs, gpuKind).Devices {
		found[d.Name] = len(d.Conflict) == 0
	}
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return found[name] })
}

// cdiNames are the qualified names of the node's GPUs, one each.
func cdiNames(node gpu.Node) []string {
	var all []string
	for _, g := range node.GPUs {
		if _, divided := g.Divided(); !divided && len(g.Nodes) > 0 {
			all = append(all, cdi.Qualified(cdi.Kind(cdi.DefaultVendor, cdi.DefaultClass), strconv.Itoa(g.Index)))
		}
	}
	return all
}

// beforeBoot reports whether a file was written before this boot.
func beforeBoot(host *hostfs.Root, path string) bool {
	info, err := os.Stat(host.Join(path))
	if err != nil {
		return false
	}
	text, err := host.ReadFile("/proc/stat")
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(text)) {
		if seconds, ok := strings.CutPrefix(line, "btime "); ok {
			boot, err := strconv.ParseInt(strings.TrimSpace(seconds), 10, 64)
			return err == nil && info.ModTime().Before(time.Unix(boot, 0))
		}
	}
	return false
}
