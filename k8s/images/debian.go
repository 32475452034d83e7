// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// pkg is a line of debian.lock.
type pkg struct{ name, version, arch, sha256 string }

// readLock reads debian.lock: NAME VERSION ARCH SHA256 on a line; # begins a comment.
func readLock(name string) ([]pkg, error) {
	text, err := os.ReadFile(name) //nolint:gosec // G304: debian.lock of these sources
	if err != nil {
		return nil, err
	}
	var locked []pkg
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		f := strings.Fields(line)
		if len(f) != 4 || len(f[3]) != 64 {
			return nil, fmt.Errorf("%s: %q is not NAME VERSION ARCH SHA256", name, line)
		}
		locked = append(locked, pkg{name: f[0], version: f[1], arch: f[2], sha256: f[3]})
	}
	return locked, nil
}

// debianLayer is a layer with the files of packages, and a control file for each, by which
// scanners know them.
func debianLayer(debs string, locked []pkg, names []string, arch string) (v1.Layer, []component, error) {
	tree := map[string]file{}
	var components []component
	for _, name := range names {
		at := slices.IndexFunc(locked, func(p pkg) bool { return p.name == name && p.arch == arch })
		if at < 0 {
			return nil, nil, fmt.Errorf("debian.lock has no %s for %s", name, arch)
		}
		p := locked[at]
		deb, err := locate(debs, p)
		if err != nil {
			return nil, nil, err
		}
		if err := unpack(deb, tree); err != nil {
			return nil, nil, fmt.Errorf("unpack %s: %w", name, err)
		}
		control, err := exec.Command("dpkg-deb", "--field", deb).Output()
		if err != nil {
			return nil, nil, fmt.Errorf("dpkg-deb --field: %w", err)
		}
		tree["var/lib/dpkg/status.d/"+name] = file{mode: 0o644, body: control}
		components = append(components, debianComponent(p))
	}
	tree["etc/os-release"] = file{
		mode: 0o644,
		body: []byte("PRETTY_NAME=\"Debian 12, some packages\"\nID=debian\nVERSION_ID=12\nVERSION_CODENAME=bookworm\n"),
	}
	var files []file
	for name, f := range tree {
		f.name = name
		files = append(files, f)
	}
	slices.SortFunc(files, func(a, b file) int { return cmp.Compare(a.name, b.name) })
	layer, err := layerOf(files)
	return layer, components, err
}

// locate is the file of a package, if it is the one of the lock.
func locate(debs string, p pkg) (string, error) {
	deb := filepath.Join(debs, p.sha256+".deb")
	body, err := os.ReadFile(deb) //nolint:gosec // G304: --debs of the person who builds; the sum is checked below
	if err != nil {
		return "", fmt.Errorf("package %s %s for %s (k8s/images/debs fetches it): %w", p.name, p.version, p.arch, err)
	}
	if sum := sha256.Sum256(body); hex.EncodeToString(sum[:]) != p.sha256 {
		return "", fmt.Errorf("%s is not what debian.lock says: its sha256 is %x", deb, sum)
	}
	return deb, nil
}

// unpack adds the files of a package to a tree by path, without those that nobody runs or must
// read.
func unpack(deb string, tree map[string]file) error {
	data, err := exec.Command("dpkg-deb", "--fsys-tarfile", deb).Output()
	if err != nil {
		return fmt.Errorf("dpkg-deb --fsys-tarfile: %w", err)
	}
	for r := tar.NewReader(bytes.NewReader(data)); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(path.Clean("/"+header.Name), "/")
		if name == "" || unneeded(name) {
			continue
		}
		body, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		tree[name] = file{mode: header.Mode, kind: header.Typeflag, link: header.Linkname, body: body}
	}
}

// unneeded reports whether an image does without a file: documents other than licences, and
// helpers for other tools.
func unneeded(name string) bool {
	for _, dir := range []string{
		"usr/share/gcc", "usr/share/gdb", "usr/share/lintian", "usr/share/man",
		"usr/share/locale",
	} {
		if name == dir || strings.HasPrefix(name, dir+"/") {
			return true
		}
	}
	inside, doc := strings.CutPrefix(name, "usr/share/doc/")
	return doc && strings.Contains(inside, "/") && path.Base(inside) != "copyright"
}
