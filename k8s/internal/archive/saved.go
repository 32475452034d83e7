// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// Saved returns the images of a file that an engine wrote, as "docker save" does, also
// compressed with gzip or xz. What is unpacked for that goes to the directory dir, and has to
// stay while the images are used.
func Saved(ctx context.Context, file, dir string) (parts []Part, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("read the images of %s: %w", file, err)
		}
	}()
	if file, err = unpacked(ctx, file, dir); err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) { return os.Open(file) } //nolint:gosec // G304: the user's file, unpacked
	list, err := tarball.LoadManifest(open)
	if err != nil {
		return nil, err
	}
	for _, image := range list {
		if len(image.RepoTags) == 0 {
			return nil, fmt.Errorf("it has an image without a name; save it by its NAME:TAG")
		}
		for _, text := range image.RepoTags {
			tag, err := name.NewTag(text)
			if err != nil {
				return nil, err
			}
			p := Part{Name: path.Base(tag.RepositoryStr()), Tag: tag.TagStr()}
			if p.Image, err = tarball.Image(open, &tag); err != nil {
				return nil, err
			}
			parts = append(parts, p)
		}
	}
	return parts, nil
}

// unpacked is a file without its compression: itself, or a new one in a directory.
func unpacked(ctx context.Context, file, dir string) (string, error) {
	in, err := os.Open(file) //nolint:gosec // G304: the user's argument, read with the user's rights
	if err != nil {
		return "", err
	}
	defer in.Close()
	head := make([]byte, 6)
	if _, err := io.ReadFull(in, head); err != nil {
		return "", err
	}
	if _, err := in.Seek(0, io.SeekStart); err != nil {
		return "", err
	}
	var copyTo func(io.Writer) error
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		copyTo = func(to io.Writer) error {
			from, err := gzip.NewReader(in)
			if err == nil {
				_, err = io.Copy(to, from) //nolint:gosec // G110: the user's own images, whose size has no bound
			}
			return err
		}
	case bytes.Equal(head, []byte("\xfd7zXZ\x00")):
		copyTo = func(to io.Writer) error {
			var said bytes.Buffer
			xz := exec.CommandContext(ctx, "xz", "-dc")
			xz.Stdin, xz.Stdout, xz.Stderr = in, to, &said
			if err := xz.Run(); err != nil {
				return fmt.Errorf("xz -dc: %w: %.200s", err, said.Bytes())
			}
			return nil
		}
	default:
		return file, nil
	}
	out, err := os.CreateTemp(dir, "images-*.tar")
	if err != nil {
		return "", err
	}
	err = copyTo(out)
	if closed := out.Close(); err == nil {
		err = closed
	}
	return out.Name(), err
}
