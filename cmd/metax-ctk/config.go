// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/internal/config"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/terminal"
)

// configKind is the kind of what config show and config default print.
const configKind = "Configuration"

func (t toolkit) configCommand() *cli.Command {
	file := &cli.StringFlag{Name: "file", Value: config.Path, Usage: "the configuration `FILE`", TakesFile: true}
	dryRun := &cli.BoolFlag{Name: "dry-run", Usage: "say what would change, and change nothing"}
	return &cli.Command{
		Name:  "config",
		Usage: "show, check and change the settings of the toolkit",
		Subcommands: []*cli.Command{
			{
				Name: "show", ArgsUsage: "[KEY]", Usage: "show every setting and where its value comes from",
				Flags: []cli.Flag{file}, Action: t.configShow,
			},
			{
				Name: "set", ArgsUsage: "KEY=VALUE...", Usage: "set values in the configuration file",
				Flags: []cli.Flag{file, dryRun}, Action: t.configSet,
			},
			{
				Name: "unset", ArgsUsage: "KEY...", Usage: "remove settings from the configuration file",
				Flags: []cli.Flag{file, dryRun}, Action: t.configUnset,
			},
			{
				Name: "default", Usage: "print a configuration file with every setting at its default",
				Action: t.configDefault,
			},
			{
				Name: "validate", ArgsUsage: "[FILE]", Usage: "list what is wrong with a configuration file",
				Action: t.configValidate,
			},
		},
	}
}

// configured is a setting, as -o prints it.
type configured struct {
	Key  string      `json:"key"`
	Type config.Kind `json:"type"`
	// Value is a text, a list of texts, a truth value or a list of requirements, by
	// the type; what is not set has the empty one.
	Value any  `json:"value"`
	Set   bool `json:"set"`
	// Origin is "option", "environment", "file" or "default"; From names the option,
	// the variable or the file, Line is that of the file or 0.
	Origin      config.Source `json:"origin"`
	From        string        `json:"from"`
	Line        int           `json:"line"`
	Environment string        `json:"environment"`
	Option      string        `json:"option"`
	Allowed     string        `json:"allowed"`
	Use         string        `json:"use"`
}

type configuration struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// File is the configuration file, Present whether it is there.
	File     string       `json:"file"`
	Present  bool         `json:"present"`
	Settings []configured `json:"settings"`
}

func (t toolkit) configShow(c *cli.Context) error {
	args := c.Args().Slice()
	path, err := configFile(c)
	if err != nil {
		return err
	}
	text, err := readConfig(path)
	if err != nil {
		return err
	}
	all, err := config.Show(path, text, os.Getenv, optionsOf(c))
	if err != nil {
		return usageError(err)
	}
	for _, e := range all {
		if doubt := e.Doubt(); doubt != "" {
			t.warn(doubt)
		}
	}
	if len(args) == 1 {
		return t.configShowOne(c, all, args[0])
	}
	rows := [][]string{{"SETTING", "VALUE", "ORIGIN"}}
	for _, e := range all {
		rows = append(rows, []string{e.Key, e.Text(), e.Origin()})
	}
	return t.printResult(c, configurationOf(path, text != nil, all), t.formatTable(rows))
}

func (t toolkit) configShowOne(c *cli.Context, all []config.Effective, key string) error {
	for _, e := range all {
		if e.Key == key {
			return t.printResult(c, ofKind{"Setting", configuredOf(e)}, terminal.Line(e.Text())+"\n")
		}
	}
	return usageError(config.Unknown(key))
}

// optionsOf returns the values of the global options by their names, so far as the
// command line has them and not the environment.
func optionsOf(c *cli.Context) func(string) (string, bool) {
	return func(option string) (string, bool) {
		name := option
		if len(name) > 2 {
			name = name[2:]
		}
		for _, f := range c.App.Flags {
			flag, ok := f.(*cli.StringFlag)
			if ok && flag.Name == name && c.IsSet(name) && os.Getenv(flag.EnvVars[0]) != c.String(name) {
				return c.String(name), true
			}
		}
		return "", false
	}
}

// readConfig returns nil for a file that is not there.
func readConfig(path string) ([]byte, error) {
	text, err := os.ReadFile(path) //nolint:gosec // G304: the user names it, and reads it with their own rights
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	return text, nil
}

func configurationOf(path string, present bool, all []config.Effective) configuration {
	shown := configuration{APIVersion: gpu.APIVersion, Kind: configKind, File: path, Present: present}
	for _, e := range all {
		shown.Settings = append(shown.Settings, configuredOf(e))
	}
	return shown
}

func configuredOf(e config.Effective) configured {
	shown := configured{
		Key: e.Key, Type: e.Kind, Set: e.Set, Origin: e.Source, From: e.Name, Line: e.Line,
		Environment: e.Env, Option: e.Option, Allowed: e.Allowed, Use: e.Use,
	}
	switch e.Kind {
	case config.Table:
		shown.Value = append([]config.Requirement{}, e.Rows...)
	case config.List:
		shown.Value = append([]string{}, e.Words...)
	case config.Switch:
		shown.Value = e.Text() == "true"
	default:
		shown.Value = e.Text()
	}
	return shown
}

// configFile is the file that a command is about: the one that is named, or that of
// the host below --root. A root in the configuration itself does not change it.
func configFile(c *cli.Context) (string, error) {
	if c.IsSet("file") || !c.IsSet("root") {
		return cmp.Or(c.String("file"), config.Path), nil
	}
	host, err := hostfs.New(c.String("root"))
	if err != nil {
		return "", err
	}
	if real, err := host.Resolve(config.Path); err == nil {
		return host.Join(real), nil
	}
	return host.Join(config.Path), nil
}
