// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/metax-ctk/container-toolkit/test/bench/internal/figure"
	"github.com/metax-ctk/container-toolkit/test/bench/internal/stopwatch"
)

const (
	macaRounds = 60
	// manyLibraries is how many libraries the host's MXMACA has.
	manyLibraries = 60
	macaHome      = "/opt/maca-3.3.0.15"
)

// maca is what the host's MXMACA adds to a container of an image with a dynamic linker, into
// which metax-docker has looked before.
func maca([]string) (figure.Set, error) {
	container := []string{"localhost/metax-e2e/debian:1", "/bin/busybox", "true"}
	if err := install(); err != nil {
		return nil, err
	}
	if _, err := output("metax-ctk", "cdi", "generate", "--class", "maca"); err != nil {
		return nil, err
	}
	words := func(options ...string) []string {
		argv := append([]string{"metax-docker", "run", "--rm", "--network=none", "--gpus=4"}, options...)
		return append(argv, container...)
	}
	// The first inspection of the image is excluded, because later starts read it from
	// the cache.
	alone, err := dryRun(words("--maca"))
	if err != nil {
		return nil, err
	}
	if !strings.Contains(strings.Join(alone, " "), "metax-tech.com/maca=host") {
		return nil, fmt.Errorf("want MXMACA by CDI, got %q", alone)
	}
	r, err := stopwatch.Time(macaRounds, stopwatch.Process("without", nil, words()...), stopwatch.Process("with", nil, words("--maca")...))
	if err != nil {
		return nil, err
	}
	return figure.Set{"maca/added": r.Added("with", "without")}, nil
}

// install makes a full installation of the few files of the simulated one: copies of one
// library under names of their own.
func install() error {
	dir := macaHome + "/lib"
	text, err := os.ReadFile(filepath.Join(dir, "libmccl.so"))
	if err != nil {
		return err
	}
	for i := range manyLibraries {
		name := fmt.Sprintf("libm%03d.so", i)
		copied := strings.Replace(string(text), "libmccl.so", name, 1)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(copied), 0o755); err != nil {
			return err
		}
	}
	return nil
}
