// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 1 && args[0] == "measure":
		results, err := measure()
		if err == nil {
			err = save(resultsFile, results)
		}
		if err != nil {
			return err
		}
	case len(args) > 0 && len(args) < 3 && args[0] == "kubernetes":
		results, err := measureCluster(strings.Join(args[1:], ""))
		if err == nil {
			err = save(clusterFile, results)
		}
		if err != nil {
			return err
		}
	case len(args) == 2 && args[0] == "scale":
		results, err := loadCluster()
		if err == nil {
			err = results.addScale(args[1])
		}
		if err == nil {
			err = save(clusterFile, results)
		}
		if err != nil {
			return err
		}
	case len(args) > 0 && len(args) < 3 && (args[0] == "busy" || args[0] == "starts"):
		engine, err := withEngine(args[0], strings.Join(args[1:], ""))
		for _, row := range engine.Busy {
			fmt.Println(busyLine(row))
		}
		return err
	case len(args) == 1 && args[0] == "pages":
	default:
		return errors.New("want: measure, or: kubernetes [FILE], or: scale FILE, or: busy [DIR], or: starts [DIR], or: pages")
	}
	results, err := loadResults()
	if err != nil {
		return err
	}
	if err := writePages(results, source); err != nil {
		return err
	}
	cluster, err := loadCluster()
	if errors.Is(err, fs.ErrNotExist) {
		return nil // nobody has measured on a cluster: there are no pages of it
	} else if err != nil {
		return err
	}
	return writeCluster(cluster, source)
}

// writePages writes the pages in docs below the directory.
func writePages(results Results, dir string) error {
	for _, p := range pages {
		text, err := p.render(results)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, p.path), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
