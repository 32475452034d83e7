// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/internal/config"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/terminal"
	"github.com/metax-ctk/container-toolkit/internal/wording"
)

func (t toolkit) configDefault(c *cli.Context) error {
	all, err := config.Show("", nil, func(string) string { return "" }, func(string) (string, bool) { return "", false })
	if err != nil {
		return err
	}
	return t.printResult(c, configurationOf(config.Path, false, all), string(config.Default()))
}

// configChecked is what validate found, as -o prints it.
type configChecked struct {
	File     string           `json:"file"`
	Present  bool             `json:"present"`
	OK       bool             `json:"ok"`
	Problems []config.Problem `json:"problems"`
}

func (t toolkit) configValidate(c *cli.Context) error {
	args := c.Args().Slice()
	path, err := configFile(c)
	if err != nil {
		return err
	}
	if len(args) == 1 {
		path = args[0]
	}
	text, err := t.configText(path)
	if err != nil {
		return err
	}
	found := configChecked{File: path, Present: text != nil, Problems: []config.Problem{}}
	if len(args) == 1 && text == nil {
		return fmt.Errorf("read configuration %s: %w", path, fs.ErrNotExist)
	}
	found.Problems = append(found.Problems, t.configTrust(path)...)
	found.Problems = append(found.Problems, config.Check(text)...)
	found.OK = len(found.Problems) == 0
	if err := t.printResult(c, found, found.table()); err != nil || found.OK {
		return err
	}
	return usageErrorf("%s in %s", wording.Count(len(found.Problems), "problem"), path)
}

func (f configChecked) table() string {
	var b strings.Builder
	for _, p := range f.Problems {
		fmt.Fprintf(&b, "%s: %s\n", terminal.Line(f.File), terminal.Line(p.String()))
	}
	switch {
	case !f.Present:
		fmt.Fprintf(&b, "%s does not exist: every setting has its default\n", terminal.Line(f.File))
	case f.OK:
		fmt.Fprintf(&b, "%s is valid\n", terminal.Line(f.File))
	}
	return b.String()
}

// configText reads a file, or standard input; nil is a file that is not there.
func (t toolkit) configText(path string) ([]byte, error) {
	if path != "-" {
		return readConfig(path)
	}
	text, err := io.ReadAll(io.LimitReader(t.In, hostfs.MaxFile))
	if err != nil {
		return nil, fmt.Errorf("read configuration from standard input: %w", err)
	}
	return append([]byte{}, text...), nil
}

// configTrust is why metax-runtime would refuse to read a file from its directory. For
// another file than the one that the programs read it is only a warning, because the file
// may be meant to be copied there.
func (t toolkit) configTrust(path string) []config.Problem {
	abs, err := filepath.Abs(path)
	if path == "-" || err != nil {
		return nil
	}
	_, err = hostfs.Trust(abs)
	switch {
	case !errors.Is(err, hostfs.ErrUntrusted):
		return nil
	case abs != config.Path:
		t.warn(fmt.Sprintf("metax-runtime would reject this file at this path: %v", err))
		return nil
	}
	return []config.Problem{{Message: fmt.Sprintf("%v: chown root:root and chmod go-w that path", err)}}
}
