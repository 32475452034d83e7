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

// The trees of the nodes that are read below a root. One without mx-smi has the suffix bare.
const (
	tree8  = "/tmp/c500-8"
	tree64 = "/tmp/superpod-64"
	bare   = "-bare"
	mxSMI  = "opt/mxdriver/bin/mx-smi"
)

// grow makes the trees.
func grow() error {
	for _, tree := range []string{tree8, tree64} {
		for _, dir := range []string{tree, tree + bare} {
			if _, err := output("metax-ctk", "sim", "create", filepath.Base(tree), dir); err != nil {
				return err
			}
		}
		if err := os.Remove(filepath.Join(tree+bare, mxSMI)); err != nil {
			return err
		}
	}
	return nil
}

// toolkit is the time of metax-ctk's commands that read a node, as whole processes: with the
// simulated mx-smi, without it, and it alone.
func toolkit([]string) (figure.Set, error) {
	var cases []stopwatch.Case
	for _, tree := range []string{tree8, tree64} {
		size := map[string]string{tree8: "/8", tree64: "/64"}[tree]
		cases = append(cases,
			stopwatch.Process("list"+size, nil, "metax-ctk", "--root", tree+bare, "device", "list"),
			generate("generate"+size, tree),
			generate("generate-bare"+size, tree+bare),
			queries("mx-smi"+size, filepath.Join(tree, mxSMI)),
		)
	}
	r, err := stopwatch.Time(toolkitRounds, append(cases, stopwatch.Process("start", nil, "metax-ctk", "version"))...)
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
func generate(name, root string) stopwatch.Case {
	c := stopwatch.Process(name, nil, "metax-ctk", "--root", root, "cdi", "generate")
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
		for _, args := range [][]string{{"-L"}, {"topo", "-m"}, {"--show-sn"}, {"--show-memory"}} {
			if _, err := output(path, args...); err != nil {
				return 0, err
			}
		}
		return 0, nil
	}}
}
