package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// push copies images, all architectures of each, from the layouts in dir to REPOSITORY/NAME:VERSION. It logs in as
// docker or podman would.
func push(dir string, chosen []image, repository, version string) error {
	for _, i := range chosen {
		to, err := name.NewTag(repository+"/"+i.name+":"+version, name.StrictValidation)
		if err != nil {
			return err
		}
		outer, err := layout.ImageIndexFromPath(filepath.Join(dir, i.name))
		if err != nil {
			return fmt.Errorf("image %s was not built: %w", i.name, err)
		}
		manifest, err := outer.IndexManifest()
		if err != nil {
			return err
		}
		if len(manifest.Manifests) != 1 {
			return fmt.Errorf("the layout of image %s has %d indices, want 1", i.name, len(manifest.Manifests))
		}
		index, err := outer.ImageIndex(manifest.Manifests[0].Digest)
		if err != nil {
			return err
		}
		if err := remote.WriteIndex(to, index, remote.WithAuthFromKeychain(authn.DefaultKeychain)); err != nil {
			return fmt.Errorf("push %s: %w", to, err)
		}
		fmt.Fprintln(os.Stdout, to)
	}
	return nil
}
