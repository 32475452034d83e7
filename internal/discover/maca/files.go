// SPDX-License-Identifier: Apache-2.0

package maca

import (
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/compat"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
)

// readHead returns the first bytes of a regular file, at most limit.
func readHead(host *hostfs.Root, name string, limit int) ([]byte, error) {
	f, err := host.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data := make([]byte, limit)
	n, err := io.ReadFull(f, data)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, fmt.Errorf("read %s: %w", host.Join(name), err)
	}
	return data[:n], nil
}

// isWithin reports whether a clean path is dir or below it.
func isWithin(name, dir string) bool {
	return name == dir || strings.HasPrefix(name, strings.TrimSuffix(dir, "/")+"/")
}

// versionOf reads the version in an installation's Version.txt. It reads only the
// beginning of the file, because the version is in the first line.
func versionOf(host *hostfs.Root, dir string) (string, error) {
	const limit = 4 << 10
	name := path.Join(dir, versionName)
	text, err := readHead(host, name, limit)
	if err != nil {
		return "", err
	}
	version, err := compat.FromFile(string(text))
	if err != nil {
		return "", fmt.Errorf("%s %w", host.Join(name), err)
	}
	return version, nil
}
