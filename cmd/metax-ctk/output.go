// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
	"sigs.k8s.io/yaml"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/terminal"
	"github.com/metax-ctk/container-toolkit/internal/wording"
)

// formatsOf returns what -o may be for a command, also in words.
func formatsOf(command *cli.Command) (formats []string, words string) {
	if findFlag(command.Flags, "gpu") != nil {
		return []string{"table", "json", "yaml", "csv"}, "table, json, yaml or csv"
	}
	return []string{"table", "json", "yaml"}, "table, json or yaml"
}

// outputFlag is the option that every printing command has.
func outputFlag(command *cli.Command) cli.Flag {
	formats, words := formatsOf(command)
	return &cli.StringFlag{
		Name: "output-format", Aliases: []string{"o"}, Value: "table",
		Usage: "print as `FORMAT`: " + words,
		Action: func(c *cli.Context, v string) error {
			meant := wording.Meant(v, formats...)
			switch {
			case slices.Contains(formats, v):
				return nil
			case slices.Contains(topologyFormats, v) && findFlag(c.Command.Flags, "format") != nil:
				return usageErrorf("unknown output format %q: %s; did you mean --format %[1]s?", v, words)
			case meant == "" && findFlag(c.Command.Flags, "output") != nil:
				return usageErrorf("-o %s: -o is the format of what is printed: %s. To write a file: --output %[1]s", v, words)
			}
			return usageErrorf("unknown output format %q: %s%s", v, words, meant)
		},
	}
}

// printResult writes value as a JSON or YAML document, or else the table for people, as -o
// says.
func (t toolkit) printResult(c *cli.Context, value any, table string) error {
	return t.writeResult(c, value, table, c.Bool("watch"))
}

// writeResult is print; several says that the value is one of several, so that JSON is one
// line.
func (t toolkit) writeResult(c *cli.Context, value any, table string, several bool) error {
	text := []byte(terminal.Lines(table))
	var err error
	switch c.String("output-format") {
	case "json":
		if text, err = document(c, value); err == nil && !several {
			var indented bytes.Buffer
			err = json.Indent(&indented, text, "", "  ")
			text = indented.Bytes()
		}
		text = terminal.JSON(append(text, '\n'))
	case "yaml":
		if text, err = document(c, value); err == nil {
			text, err = yaml.JSONToYAML(text)
		}
	}
	if err != nil {
		return fmt.Errorf("encode output: %w", err)
	}
	t.endWarnings()
	_, err = t.Out.Write(text)
	return err
}

// ofKind is a value whose kind is not its command's name.
type ofKind struct {
	kind  string
	value any
}

// document is value as a JSON object with apiVersion and kind. The kind is that of the
// value, or else the command's name, "CdiCheck". A list becomes the items of an object,
// "SimList".
func document(c *cli.Context, value any) ([]byte, error) {
	kind := ""
	for _, word := range strings.Fields(c.Command.HelpName)[1:] {
		kind += strings.ToUpper(word[:1]) + word[1:]
	}
	if of, ok := value.(ofKind); ok {
		kind, value = of.kind, of.value
	}
	text, err := json.Marshal(value)
	if err != nil || bytes.HasPrefix(text, []byte(`{"apiVersion":`)) {
		return text, err
	}
	members := text[1:]
	if text[0] != '{' {
		kind = strings.TrimSuffix(kind, "List") + "List"
		members = fmt.Appendf(nil, `"items":%s}`, text)
	}
	return fmt.Appendf(nil, `{"apiVersion":%q,"kind":%q,%s`, gpu.APIVersion, kind, members), nil
}

// joinLines has each of the values in a line of its own, also one of several lines.
func joinLines[T any](values []T) string {
	var text strings.Builder
	for _, v := range values {
		fmt.Fprintln(&text, terminal.Line(fmt.Sprint(v)))
	}
	return text.String()
}
