// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"fmt"

	"github.com/metax-ctk/container-toolkit/internal/atomicfile"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
)

// MaxConfig is the maximum size of a config.json in bytes.
const MaxConfig = hostfs.MaxFile

// Bundle is a config.json on disk.
type Bundle struct {
	file   *atomicfile.Original
	config *Config
}

// Open reads a config.json, whose file may have another name. It must be a regular
// file, not a link, of at most MaxConfig bytes (atomicfile.ErrNotRegular,
// atomicfile.ErrTooLarge). It is not parsed yet.
func Open(path string) (*Bundle, error) {
	file, err := atomicfile.Read(path, MaxConfig)
	if err != nil {
		return nil, err
	}
	return &Bundle{file: file}, nil
}

// NoRequest is the function NoRequest for the file's text.
func (b *Bundle) NoRequest() bool { return NoRequest(b.file.Data) }

// Config parses the text on the first call; every call returns the same Config. Errors
// are ErrConfig with the path.
func (b *Bundle) Config() (*Config, error) {
	if b.config == nil {
		c, err := Parse(b.file.Data)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", b.file.Path, err)
		}
		b.config = c
	}
	return b.config, nil
}

// Flush writes the Config to the file if it has changed. The write is atomic and keeps
// the file's mode and owner. After an error the file is unchanged.
func (b *Bundle) Flush() error {
	if b.config == nil {
		return nil
	}
	return b.file.Replace(b.config.Bytes())
}
