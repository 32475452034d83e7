// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/metax-ctk/container-toolkit/test/bench/internal/stopwatch"
)

// leasesDir is where the leases of a node are, below its root.
const leasesDir = "/run/metax-container-toolkit/leases"

// reconcile reconciles the leases of the node below the root, and returns what puts them
// back as they are then. A client that ends at once leaves a lease behind, which keeps its
// GPUs for two seconds: no second run would find the node that the first one found.
func reconcile(root string) (restore func() error, err error) {
	if _, err := output("metax-ctk", "--root", root, "lease", "gc"); err != nil {
		return nil, err
	}
	file := filepath.Join(root, leasesDir, "leases.json")
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("keep the leases: %w", err)
	}
	return func() error { return os.WriteFile(file, text, 0o664) }, nil
}

// after is the case with what has to be done before it.
func after(prepare func() error, c stopwatch.Case) stopwatch.Case {
	c.Prepare = prepare
	return c
}
