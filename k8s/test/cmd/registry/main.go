// SPDX-License-Identifier: Apache-2.0

// Command registry serves container images from memory:
//
//	registry ADDRESS DIR
//
// Each folder of DIR/images is an OCI layout of one architecture: images/NAME becomes
// metax-ctk/NAME, with the version that the layout states. Each program of DIR named in
// programs becomes the image test/PROGRAM:1, which holds nothing else.
// test/driver-image:VERSION, for each of driverVersions, is an image with a driver of the
// simulated node c500-8, and test/maca-c500 are images with MXMACA. It prints ready when all
// images are there.
package main

import (
	"archive/tar"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/metax-ctk/container-toolkit/internal/sim"
	"github.com/metax-ctk/container-toolkit/test/image"
)

var programs = []string{"probe", "vendorlike"}

var driverVersions = []string{"3.7.0", "3.8.0"}

func main() {
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "registry:", err)
		os.Exit(1)
	}
}

func run(address, dir string) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	quiet := log.New(io.Discard, "", 0)
	ended := make(chan error)
	go func() { ended <- http.Serve(listener, registry.New(registry.Logger(quiet))) }()
	for _, program := range programs {
		if err := pushProgram(address, dir, program); err != nil {
			return fmt.Errorf("make the image of %s: %w", program, err)
		}
	}
	for _, version := range driverVersions {
		if err := pushDriver(address, dir, version); err != nil {
			return fmt.Errorf("make the image of driver %s: %w", version, err)
		}
	}
	for _, tag := range macaVersions {
		if err := pushMACA(address, tag); err != nil {
			return fmt.Errorf("make the image of MXMACA %s: %w", tag, err)
		}
	}
	layouts, err := os.ReadDir(filepath.Join(dir, "images"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, entry := range layouts {
		if !entry.IsDir() { // a list of parts
			continue
		}
		if err := pushLayout(address, filepath.Join(dir, "images", entry.Name())); err != nil {
			return fmt.Errorf("push the image %s: %w", entry.Name(), err)
		}
	}
	fmt.Println("ready")
	return <-ended
}

// pushProgram pushes an image whose only file is the program.
func pushProgram(address, dir, program string) error {
	img, err := imageOf("/"+program, filepath.Join(dir, program))
	if err != nil {
		return err
	}
	return push(address+"/test/"+program+":1", img)
}

// pushDriver pushes an image with a driver.
func pushDriver(address, dir, version string) error {
	smi, err := os.ReadFile(filepath.Join(dir, "metax-sim-smi"))
	if err != nil {
		return err
	}
	tree, err := sim.DriverImage("c500-8", version, smi)
	if err != nil {
		return err
	}
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	for _, path := range slices.Sorted(maps.Keys(tree)) {
		file, ok := tree[path].(sim.File)
		if !ok {
			return fmt.Errorf("%s is not a file", path)
		}
		header := &tar.Header{Typeflag: tar.TypeReg, Name: path, Mode: int64(cmp.Or(file.Perm, 0o644)), Size: int64(len(file.Data))}
		if err := w.WriteHeader(header); err != nil {
			return err
		}
		if _, err := io.WriteString(w, file.Data); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(archive.Bytes())), nil })
	if err != nil {
		return err
	}
	img, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		return err
	}
	config, err := img.ConfigFile()
	if err != nil {
		return err
	}
	config.OS, config.Architecture = "linux", runtime.GOARCH
	if img, err = mutate.ConfigFile(img, config); err != nil {
		return err
	}
	return push(address+"/test/driver-image:"+version, img)
}

// imageOf is an image with one program at the path, a copy of the file.
func imageOf(path, file string) (v1.Image, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var archive bytes.Buffer
	_, err = image.Image{
		Ref:   "program",
		Files: map[string][]byte{path: text},
		Dirs:  []string{"/dev", "/etc", "/proc", "/sys", "/tmp"},
		Cmd:   []string{path, "pause"},
	}.WriteTo(&archive)
	if err != nil {
		return nil, err
	}
	return tarball.Image(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(archive.Bytes())), nil }, nil)
}

// pushLayout pushes the only image of an OCI layout.
func pushLayout(address, dir string) error {
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		return err
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return err
	}
	outer := manifest.Manifests[0]
	version := outer.Annotations["org.opencontainers.image.ref.name"]
	if outer.MediaType.IsIndex() { // of one architecture
		if index, err = index.ImageIndex(outer.Digest); err != nil {
			return err
		}
		if manifest, err = index.IndexManifest(); err != nil {
			return err
		}
	}
	img, err := index.Image(manifest.Manifests[0].Digest)
	if err != nil {
		return err
	}
	return push(address+"/metax-ctk/"+filepath.Base(dir)+":"+version, img)
}

func push(reference string, img v1.Image) error {
	ref, err := name.ParseReference(reference)
	if err != nil {
		return err
	}
	return remote.Write(ref, img)
}
