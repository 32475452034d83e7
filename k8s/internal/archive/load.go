// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/metax-ctk/container-toolkit/internal/atomicfile"
)

// engines are the commands that load images from their standard input, where the kubelet looks
// for them.
var engines = map[string][]string{
	"containerd": {"ctr", "-n", "k8s.io", "images", "import", "-"},
	"k3s":        {"k3s", "ctr", "-n", "k8s.io", "images", "import", "-"},
	"docker":     {"docker", "load"},
	"podman":     {"podman", "load"}, // also for CRI-O
}

// Engines are the names of the engines.
func Engines() []string { return slices.Sorted(maps.Keys(engines)) }

// Load loads the images of an architecture into an engine of this machine, by their names
// below a project, and calls each with the name of each. Charts are left out.
func Load(ctx context.Context, parts []Part, engine, project, arch string, each func(reference string)) error {
	command, ok := engines[engine]
	if !ok {
		return fmt.Errorf("%q is not an engine: want one of %s", engine, strings.Join(Engines(), ", "))
	}
	for _, p := range parts {
		if p.IsChart() {
			continue
		}
		reference, err := name.NewTag(project + "/" + p.String())
		if err != nil {
			return fmt.Errorf("%q is not a registry with a project: %w", project, err)
		}
		one, err := p.forArch(arch)
		if err == nil {
			err = load(ctx, command, reference, one)
		}
		if err != nil {
			return fmt.Errorf("load %s: %w", p, err)
		}
		each(reference.String())
	}
	return nil
}

// load gives an image to a command, as docker saves images: every engine knows that.
func load(ctx context.Context, command []string, reference name.Reference, one v1.Image) error {
	var text bytes.Buffer
	run := exec.CommandContext(ctx, command[0], command[1:]...)
	run.Stdout, run.Stderr = &text, &text
	in, err := run.StdinPipe()
	if err == nil {
		err = run.Start()
	}
	if err != nil {
		return err
	}
	written := tarball.Write(reference, one, in)
	if closed := in.Close(); written == nil {
		written = closed
	}
	if err := run.Wait(); err != nil {
		return fmt.Errorf("%s: %w: %.500s", strings.Join(command, " "), err, bytes.TrimSpace(text.Bytes()))
	}
	return written
}

// forArch is the image of an architecture.
func (p Part) forArch(arch string) (v1.Image, error) {
	if p.Index == nil {
		return p.Image, nil
	}
	manifest, err := p.Index.IndexManifest()
	if err != nil {
		return nil, err
	}
	var have []string
	for _, d := range manifest.Manifests {
		if d.Platform == nil {
			continue
		}
		if d.Platform.Architecture == arch {
			return p.Index.Image(d.Digest)
		}
		have = append(have, d.Platform.Architecture)
	}
	return nil, fmt.Errorf("it is not for %s, but for %s", arch, strings.Join(have, ", "))
}

// Charts writes the charts to a directory as NAME-VERSION.tgz, and returns the files.
func Charts(parts []Part, dir string) (files []string, err error) {
	for _, p := range parts {
		if !p.IsChart() {
			continue
		}
		file := filepath.Join(dir, p.Name+"-"+p.Tag+".tgz")
		if err := p.extract(file); err != nil {
			return nil, fmt.Errorf("write the chart %s: %w", p, err)
		}
		files = append(files, file)
	}
	return files, nil
}

// extract writes the only layer to a file.
func (p Part) extract(file string) error {
	layers, err := p.Image.Layers()
	if err != nil {
		return err
	}
	if len(layers) != 1 {
		return fmt.Errorf("it has %d layers, want 1", len(layers))
	}
	from, err := layers[0].Compressed()
	if err != nil {
		return err
	}
	defer from.Close()
	text, err := io.ReadAll(from)
	if err != nil {
		return err
	}
	_, err = atomicfile.Write(file, text, atomicfile.Options{Perm: 0o644})
	return err
}
