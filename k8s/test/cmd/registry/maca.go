// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/sim"
	"github.com/metax-ctk/container-toolkit/test/image"
)

// macaVersions are the tags of test/maca-c500, stand-ins for the vendor's images: the MXMACA
// of a simulated host. That of the tag hostile also has a link that leads out of it.
var macaVersions = []string{"3.8.0.1", "3.9.0.2", "hostile"}

func pushMACA(address, tag string) error {
	img, err := macaImage(tag)
	if err != nil {
		return err
	}
	return push(address+"/test/maca-c500:"+tag, img)
}

func macaImage(tag string) (v1.Image, error) {
	i := image.Image{Ref: "maca", Files: map[string][]byte{}, Links: map[string]string{}, Dirs: []string{"/dev", "/etc", "/proc", "/sys", "/tmp"}}
	version := tag
	if tag == "hostile" {
		version = "3.10.0.3"
		i.Links["/opt/maca-"+version+"/lib/libshadow.so"] = "../../../etc/shadow"
	}
	if err := addMACA(&i, version); err != nil {
		return nil, err
	}
	var archive bytes.Buffer
	if _, err := i.WriteTo(&archive); err != nil {
		return nil, err
	}
	return tarball.Image(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(archive.Bytes())), nil }, nil)
}

// addMACA adds the MXMACA of a simulated host.
func addMACA(i *image.Image, version string) error {
	node, err := sim.Node("c500-8")
	if err != nil {
		return err
	}
	node.MACA = &gpu.MACA{Path: "/opt/maca", Version: version}
	tree, err := sim.HostTree(node)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "maca-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for name := range tree {
		if !strings.HasPrefix(name, "opt/maca") {
			delete(tree, name)
		}
	}
	if err := tree.Write(dir); err != nil {
		return err
	}
	return filepath.WalkDir(dir, func(at string, entry fs.DirEntry, err error) error {
		name := strings.TrimPrefix(at, dir)
		switch {
		case err != nil:
			return err
		case entry.Type() == fs.ModeSymlink:
			i.Links[name], err = os.Readlink(at)
		case entry.Type().IsRegular():
			i.Files[name], err = os.ReadFile(at)
		case !entry.IsDir():
			err = fmt.Errorf("%s of a simulated host is no file", name)
		}
		return err
	})
}
