package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/metax-ctk/container-toolkit/test/bench/internal/rival"
)

// comparison is the default size of the comparison with other allocators: about four
// minutes on two cores.
var comparison = rival.Limit{Sets: 1000, Work: 2e6, Single: 600e6}

// compareAllocators asks all allocators about all nodes.
func compareAllocators(limit rival.Limit) ([]rival.Comparison, error) {
	var all []rival.Comparison
	for _, n := range rival.Nodes() {
		start := time.Now()
		c, err := rival.Compare(n, limit)
		if err != nil {
			return nil, fmt.Errorf("compare allocators: %w", err)
		}
		fmt.Fprintf(os.Stderr, "bench: allocators, %s of %d GPUs: %v\n", n.Name, n.GPUs, time.Since(start).Round(time.Second))
		all = append(all, c)
	}
	return all, nil
}

// allocatorsAlone measures nothing but the allocators, and writes results and pages into a
// directory of its own: the last run's, with this in place of what it had.
func allocatorsAlone(args []string) error {
	flags := flag.NewFlagSet("allocators", flag.ContinueOnError)
	limit := comparison
	flags.IntVar(&limit.Sets, "sets", limit.Sets, "sets of free GPUs on each node")
	flags.Float64Var(&limit.Work, "work", limit.Work, "steps of an exhaustive allocator, for each node, number of free GPUs and number asked for")
	flags.Float64Var(&limit.Single, "single", limit.Single, "steps that it may take for a question with all GPUs free")
	if err := flags.Parse(args); err != nil {
		return err
	}
	dir := flags.Arg(0)
	if flags.NArg() != 1 || limit.Sets < 1 {
		return errors.New("want: allocators [-sets=N] [-work=N] [-single=N] DIRECTORY")
	}
	results, err := loadResults()
	if err != nil {
		return err
	}
	if results.Allocators, err = compareAllocators(limit); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(dir, "docs", "zh"), 0o755); err != nil {
		return err
	}
	if err := save(filepath.Join(dir, resultsFile), results); err != nil {
		return err
	}
	return writePages(results, dir)
}
