// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/metax-ctk/container-toolkit/test/bench/internal/figure"
	"github.com/metax-ctk/container-toolkit/test/bench/internal/stopwatch"
)

const toolkitRounds = 50

// tree8 is the tree of the node that is read below a root.
const tree8 = "/tmp/c500-8"

// grow makes the tree.
func grow() error {
	_, err := output("metax-ctk", "sim", "create", filepath.Base(tree8), tree8)
	return err
}

// toolkit is the time of "cdi generate", of the simulated mx-smi that it asks, and of the
// start of metax-ctk, as whole processes.
func toolkit([]string) (figure.Set, error) {
	cases := []stopwatch.Case{queries("mx-smi/8", filepath.Join(tree8, "opt/mxdriver/bin/mx-smi"))}
	for _, b := range builds() {
		ctk := b.dir + "metax-ctk"
		cases = append(cases, generate(b.prefix+"generate/8", ctk, tree8), stopwatch.Process(b.prefix+"start", nil, ctk, "version"))
	}
	r, err := timed(toolkitRounds, cases...)
	if err != nil {
		return nil, err
	}
	set := figure.Set{}
	for name := range r {
		set["toolkit/"+name] = r.Wall(name)
	}
	return set, nil
}

// generate writes the spec and the record of a node that has neither.
func generate(name, ctk, root string) stopwatch.Case {
	c := stopwatch.Process(name, nil, ctk, "--root", root, "cdi", "generate")
	c.Prepare = func() error {
		for _, file := range []string{"var/run/cdi/metax-tech.com-gpu.json", "var/run/cdi/metax-tech.com-maca.json", "run/metax-container-toolkit/node.json"} {
			if err := os.Remove(filepath.Join(root, file)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		return nil
	}
	return c
}

// queries asks the tool what the toolkit asks it.
func queries(name, path string) stopwatch.Case {
	return stopwatch.Case{Name: name, Run: func() (int64, error) {
		for _, args := range [][]string{{"-L"}, {"topo", "-m"}, {"--show-sn"}, {"--show-memory"}, {"--show-version"}} {
			if _, err := output(path, args...); err != nil {
				return 0, err
			}
		}
		return 0, nil
	}}
}
