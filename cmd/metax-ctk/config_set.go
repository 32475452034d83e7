// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
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
	File    string          `json:"file"`
	DryRun  bool            `json:"dryRun"`
	Changes []config.Change `json:"changes"`
}

func (t toolkit) configSet(c *cli.Context) error {
	all, err := config.ParseAssignments(c.Args().Slice())
	if err != nil {
		return usageError(err)
	}
	return t.configEdit(c, all)
}

func (t toolkit) configUnset(c *cli.Context) error {
	all, err := config.ParseKeys(c.Args().Slice())
	if err != nil {
		return usageError(err)
	}
	return t.configEdit(c, all)
}

// configEdit edits the file, and prints what has changed.
func (t toolkit) configEdit(c *cli.Context, assignments []config.Assignment) error {
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
	after, changes, err := config.Edit(path, original.Data, assignments)
	if errors.As(err, new(*toml.SyntaxError)) || errors.As(err, new(*config.Error)) {
		return usageError(err)
	} else if err != nil {
		return err
	}
	if err := t.checkLogDir(c, path, after, changes); err != nil {
		return err
	}
	done := configEdited{File: path, DryRun: c.Bool("dry-run"), Changes: changes}
	if !done.DryRun && len(changes) > 0 {
		if err := writeConfig(original, after); err != nil {
			return err
		}
	}
	return t.printResult(c, done, done.table())
}

// checkLogDir refuses a log file of this host in a directory that does not exist: every
// command would fail to write it. A file for another host may name any.
func (t toolkit) checkLogDir(c *cli.Context, path string, text []byte, changes []config.Change) error {
	if !slices.ContainsFunc(changes, func(change config.Change) bool { return change.Key == "log.file" }) {
		return nil
	}
	settings, err := config.Load(path, text, func(string) string { return "" })
	if err != nil || settings.Log.File.Text == "" {
		return err
	}
	dir := filepath.Dir(settings.Log.File.Text)
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	problem := fmt.Sprintf("log.file: the directory %s does not exist: sudo mkdir -p %[1]s", terminal.Line(dir))
	if !c.IsSet("file") {
		return usageErrorf("%s", problem)
	}
	t.warn(problem)
	return nil
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
