package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/internal/atomicfile"
	"github.com/metax-ctk/container-toolkit/internal/config"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/terminal"
	"github.com/metax-ctk/container-toolkit/internal/toml"
)

// configEdited is what set and unset did, as -o prints it.
type configEdited struct {
	File    string         `json:"file"`
	DryRun  bool           `json:"dryRun"`
	Changes []configChange `json:"changes"`
}

// configChange is one setting of the file, as it stands there; empty is not there.
type configChange struct {
	Key    string `json:"key"`
	Before string `json:"before"`
	After  string `json:"after"`
}

func (t toolkit) configSet(c *cli.Context) error {
	args := c.Args().Slice()
	values := map[string]any{}
	var err error
	var keys []string
	for _, arg := range args {
		key, text, ok := strings.Cut(arg, "=")
		if !ok {
			return usagef("%q has no value: want KEY=VALUE", arg)
		}
		s, ok := config.Find(key)
		if !ok {
			return usageError(config.Unknown(key))
		}
		if _, twice := values[key]; twice {
			return usagef("%s is set twice", key)
		}
		if values[key], err = s.Parse(text); err != nil {
			return usageError(err)
		}
		keys = append(keys, key)
	}
	return t.configEdit(c, keys, func(doc *toml.Document, key string) error {
		return doc.Set(values[key], strings.Split(key, ".")...)
	})
}

func (t toolkit) configUnset(c *cli.Context) error {
	keys := c.Args().Slice()
	for _, key := range keys {
		if _, ok := config.Find(key); !ok {
			return usageError(config.Unknown(key))
		}
	}
	return t.configEdit(c, keys, func(doc *toml.Document, key string) error {
		return doc.Delete(strings.Split(key, ".")...)
	})
}

// configEdit edits the settings of some keys in the file, and writes it if that
// makes a valid file.
func (t toolkit) configEdit(c *cli.Context, keys []string, edit func(*toml.Document, string) error) error {
	path, err := configFile(c)
	if err != nil {
		return err
	}
	original, err := atomicfile.Read(path, hostfs.MaxFile)
	if errors.Is(err, fs.ErrNotExist) {
		original, err = &atomicfile.Original{Path: path}, nil
	}
	if err != nil {
		return err
	}
	doc, err := toml.Parse(original.Data)
	if err != nil {
		return usagef("read configuration %s: %w", path, err)
	}
	done := configEdited{File: path, DryRun: c.Bool("dry-run"), Changes: []configChange{}}
	for _, key := range keys {
		before := literal(doc, key)
		if err := edit(doc, key); err != nil {
			return fmt.Errorf("edit %s: %w", path, err)
		}
		if after := literal(doc, key); after != before {
			done.Changes = append(done.Changes, configChange{key, before, after})
		}
	}
	after := doc.Bytes()
	if problems := config.Check(after); len(problems) > 0 {
		return usageError(&config.Error{Path: path, Problems: problems})
	}
	if !done.DryRun && len(done.Changes) > 0 {
		if err := writeConfig(original, after); err != nil {
			return err
		}
	}
	return t.print(c, done, done.table())
}

// literal is a setting as it would stand in the file on one line; empty is not
// there.
func literal(doc *toml.Document, key string) string {
	value, ok := doc.Get(strings.Split(key, ".")...)
	if !ok {
		return ""
	}
	return toml.Literal(value)
}

// writeConfig puts text in the place of a file, which keeps its mode and owner.
func writeConfig(original *atomicfile.Original, text []byte) error {
	if original.Data == nil {
		_, err := atomicfile.Write(original.Path, text, atomicfile.Options{Perm: 0o644})
		return err
	}
	meta, err := atomicfile.MetaOf(original.Path)
	if err != nil {
		return err
	}
	// Another program may have edited it meanwhile.
	if now, err := atomicfile.Read(original.Path, hostfs.MaxFile); err != nil {
		return err
	} else if !bytes.Equal(now.Data, original.Data) {
		return fmt.Errorf("edit %s: %w", original.Path, atomicfile.ErrChanged)
	}
	_, err = atomicfile.Write(original.Path, text, atomicfile.Options{Meta: &meta})
	return err
}

func (e configEdited) table() string {
	if len(e.Changes) == 0 {
		return "nothing to do\n"
	}
	var text strings.Builder
	verb := "set"
	if e.DryRun {
		verb = "would set"
	}
	for _, change := range e.Changes {
		line := fmt.Sprintf("%s %s = %s", verb, change.Key, change.After)
		if change.After == "" {
			line = strings.Replace(verb, "set", "unset", 1) + " " + change.Key
		}
		if change.Before != "" {
			line += ", was " + change.Before
		}
		fmt.Fprintln(&text, terminal.Line(line))
	}
	return text.String()
}
