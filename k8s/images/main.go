// SPDX-License-Identifier: Apache-2.0

package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

func main() {
	var (
		out     = flag.String("out", "dist/images", "directory for the layouts")
		version = flag.String("version", "unknown", "version of the programs, and tag of the images")
		arches  = flag.String("arches", "amd64,arm64", "architectures, with commas")
		only    = flag.String("images", "", "images to build, with commas (default: all)")
		debs    = flag.String("debs", "", "directory with the packages of debian.lock, as SHA256.deb")
		repo    = flag.String("repo", "..", "root of the sources")
		sbom    = flag.String("programs", "",
			"write only the list of parts of the Go programs in this directory, to the file of -out")
		dir = flag.String("archives", "", "directory for archives of all images and the charts (default: none)")
	)
	flag.IntVar(&compression, "compression", compression, "level of gzip for the layers: 1 is fast, for tests")
	flag.Parse()
	do := run
	if *sbom != "" {
		do = func(out, version, _, _, _, _, _ string) error {
			created, err := sourceDate()
			if err != nil {
				return err
			}
			return writeProgramsSBOM(out, *sbom, version, created)
		}
	}
	if err := do(*out, *version, *arches, *only, *debs, *repo, *dir); err != nil {
		fmt.Fprintln(os.Stderr, "images:", err)
		os.Exit(1)
	}
}

func run(out, version, arches, only, debs, repo, archives string) error {
	created, err := sourceDate()
	if err != nil {
		return err
	}
	chosen, err := selectImages(images, only)
	if err != nil {
		return err
	}
	locked, err := readLock(filepath.Join(repo, "k8s", "images", "debian.lock"))
	if err != nil {
		return err
	}
	b := builder{
		repo: repo, debs: debs, locked: locked, version: version, created: created,
		arches: strings.Split(arches, ","),
	}
	for _, i := range chosen {
		if err := b.writeImage(out, i); err != nil {
			return fmt.Errorf("build image %s: %w", i.name, err)
		}
		fmt.Println(filepath.Join(out, i.name))
	}
	if archives == "" {
		return nil
	}
	return b.writeArchives(archives, out, chosen)
}

// sourceDate is the time that images carry: SOURCE_DATE_EPOCH, or the start of 1970.
func sourceDate() (time.Time, error) {
	text := os.Getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		return time.Unix(0, 0).UTC(), nil
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH: %q is not a number of seconds", text)
	}
	return time.Unix(seconds, 0).UTC(), nil
}
