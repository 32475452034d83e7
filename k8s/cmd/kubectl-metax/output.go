// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/urfave/cli/v2"
	"sigs.k8s.io/yaml"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/terminal"
)

var formats = []string{"table", "json", "yaml"}

// printOutput writes a value with apiVersion and kind as -o says, or else the table for
// people.
func printOutput(c *cli.Context, value any, table string) error {
	text := []byte(terminal.Lines(table))
	if format := c.String("output"); format != "table" {
		var b bytes.Buffer
		out := json.NewEncoder(&b)
		out.SetEscapeHTML(false)
		if !c.Bool("watch") || format == "yaml" { // otherwise it is a line
			out.SetIndent("", "  ")
		}
		if err := out.Encode(value); err != nil {
			return fmt.Errorf("encode output: %w", err)
		}
		text = terminal.JSON(b.Bytes())
		if format == "yaml" {
			var err error
			if text, err = yaml.JSONToYAML(text); err != nil {
				return fmt.Errorf("encode output: %w", err)
			}
		}
	}
	_, err := c.App.Writer.Write(text)
	return err
}

// buildVersion is set by the linker (Makefile).
var buildVersion string

// pluginVersion is the one the Makefile states, or else the module's.
func pluginVersion() string {
	if buildVersion != "" {
		return buildVersion
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
}

// versionOf is the document of the command version, the same as that of metax-ctk.
type versionOf struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Version    string `json:"version"`
	Go         string `json:"go"`
	OS         string `json:"os"`
	Arch       string `json:"arch"`
}

func newVersion() versionOf {
	return versionOf{
		APIVersion: gpu.APIVersion, Kind: "Version", Version: pluginVersion(), Go: runtime.Version(),
		OS: runtime.GOOS, Arch: runtime.GOARCH,
	}
}

func (v versionOf) versionLine() string {
	return fmt.Sprintf("%s %s (%s, %s/%s)\n", program, v.Version, v.Go, v.OS, v.Arch)
}

func printVersion(c *cli.Context) error {
	v := newVersion()
	return printOutput(c, v, v.versionLine())
}
