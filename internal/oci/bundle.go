package oci

import (
	"fmt"

	"github.com/metax-ctk/container-toolkit/internal/atomicfile"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
)

// MaxConfig is the size in bytes beyond which a config.json is not read.
const MaxConfig = hostfs.MaxFile

// Bundle is a config.json on disk.
type Bundle struct {
	file   *atomicfile.Original
	config *Config
}

// Open reads a config.json, which may have another name. It must be a regular
// file, not a link, of at most MaxConfig bytes (atomicfile.ErrNotRegular,
// atomicfile.ErrTooLarge). It is not parsed yet.
func Open(path string) (*Bundle, error) {
	file, err := atomicfile.Read(path, MaxConfig)
	if err != nil {
		return nil, err
	}
	return &Bundle{file: file}, nil
}

// Quiet is Quiet of the file's text.
func (b *Bundle) Quiet() bool { return Quiet(b.file.Data) }

// Config parses the text, once: every call returns the same Config. Errors are
// ErrConfig with the path.
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

// Flush writes the Config to the file if it has changed: a reader sees the old
// text or the new one, with the file's mode and owner. After an error the file is
// as it was.
func (b *Bundle) Flush() error {
	if b.config == nil {
		return nil
	}
	return b.file.Replace(b.config.Bytes())
}
