// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/dockerd"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/image"
	"github.com/metax-ctk/container-toolkit/internal/lease/ledger"
)

// wrapper is the program that users run.
const wrapper = "metax-docker"

// siblings are the programs that belong in the directory of metax-ctk, and the option
// that prints the version; the wrapper has none, as it would ask docker.
var siblings = []struct{ name, ask string }{
	{wrapper, ""}, {"metax-hook", "--version"}, {"metax-mxsml", "--version"}, {"metax-runtime", "metax-version"},
}

func programFacts(ctx context.Context, c Config, _ *Facts) (func(*Facts), error) {
	p := Programs{Version: c.Version, Versions: map[string]string{}, ConfigPath: c.ConfigPath}
	if c.Settings != nil {
		p.Config = c.Settings.Error()
	}
	if file, err := c.Root.Stat(c.ConfigPath); err == nil && !c.Root.Protected(file) {
		p.ConfigMode = file.Mode.Perm().String()
	}
	if !c.Here {
		return func(f *Facts) { f.Programs = p }, nil // this machine's programs are not that host's
	}
	p.Dir = filepath.Dir(c.Self)
	for _, program := range siblings {
		at := filepath.Join(p.Dir, program.name)
		info, err := os.Stat(at)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			p.Missing = append(p.Missing, program.name)
			continue
		case err != nil:
			return nil, err
		}
		_, err = hostfs.Trust(at)
		var untrusted *hostfs.UntrustedError
		switch {
		case info.Mode()&(fs.ModeSetuid|fs.ModeSetgid) != 0:
			p.Unsafe = append(p.Unsafe, Unsafe{Path: at, Why: "it runs with the rights of its owner or group", Culprit: at})
		case errors.As(err, &untrusted):
			culprit, err := os.Stat(untrusted.Path)
			p.Unsafe = append(p.Unsafe, Unsafe{
				Path: at, Why: untrusted.Error(), Culprit: untrusted.Path,
				Sticky: err == nil && culprit.Mode()&fs.ModeSticky != 0,
			})
		case program.ask != "":
			// Only a program that is safe to run is asked for its version.
			out, err := runProgram(ctx, c, at, program.ask)
			if words := strings.Fields(out); err == nil && len(words) > 0 && isRelease(c.Version) &&
				isRelease(words[len(words)-1]) && !slices.Contains(words, c.Version) {
				p.Versions[program.name] = strings.Join(words, " ")
			}
		}
	}
	for _, dir := range filepath.SplitList(c.Getenv("PATH")) {
		at := filepath.Join(dir, wrapper)
		info, err := os.Stat(at)
		if err != nil || !filepath.IsAbs(dir) || !info.Mode().IsRegular() || info.Mode().Perm()&0o111 == 0 {
			continue
		}
		if own, err := os.Stat(filepath.Join(p.Dir, wrapper)); err == nil && !os.SameFile(own, info) {
			p.Foreign = at
		}
		break // the shell runs the first one
	}
	return func(f *Facts) { f.Programs = p }, nil
}

// isRelease reports whether a version is that of a release; a program built by hand has
// none.
func isRelease(version string) bool { return version != "unknown" && version != "(devel)" }

func runProgram(ctx context.Context, c Config, program string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	out, err := c.Ask(ctx, program, args...)
	return string(out), err
}

func leaseFacts(ctx context.Context, c Config, known *Facts) (func(*Facts), error) {
	if c.Leases == nil {
		return nil, nil
	}
	l := Leases{Dir: c.LeaseDir, Present: c.Root.Exists(c.LeaseDir)}
	for _, name := range known.System.Groups {
		l.Shared = l.Shared || name == "docker"
	}
	node := known.Node.Node
	if !known.Node.Known {
		node = gpu.NewNode("")
	}
	var err error
	l.Report, err = c.Leases(ctx, node)
	var unsafe *ledger.UnsafeError
	if errors.As(err, &unsafe) {
		l.Fix = unsafe.Fix
	}
	if err != nil {
		l.Err = err.Error()
	}
	return func(f *Facts) { f.Leases = l }, nil
}

func imageFacts(ctx context.Context, c Config, _ *Facts) (func(*Facts), error) {
	if c.Image == "" {
		return nil, nil
	}
	i := Image{Ref: c.Image}
	source := image.Docker{Daemon: dockerd.Daemon{Socket: c.Root.Join(c.DockerSocket)}}
	var err error
	if i.Facts, err = image.Read(ctx, source, c.Image, image.Cache{}, nil); err != nil {
		i.Err = err.Error()
	}
	return func(f *Facts) { f.Image = &i }, nil
}
