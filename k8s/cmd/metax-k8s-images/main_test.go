// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

// run is what the program prints, and its error. The test program has no images behind it.
func run(args ...string) (string, error) {
	var out bytes.Buffer
	app := newApp()
	app.Writer = &out
	err := app.Run(append([]string{app.Name}, args...))
	return out.String(), err
}

func TestHelp(t *testing.T) {
	for _, c := range newApp().Commands {
		if out, err := run(c.Name, "--help"); err != nil || !strings.Contains(out, "Example: ./metax-k8s-images.1.2.3.amd64.run "+c.Name) {
			t.Errorf("%s --help: %v, without an example:\n%s", c.Name, err, out)
		}
	}
}

func TestErrors(t *testing.T) {
	const noImages = "there are no images behind this program"
	for _, test := range []struct{ args, want string }{
		{"list", noImages},
		{"push", "name the registry, as in: push hub.example.com/metax"},
		{"push hub.example.com/metax", noImages},
		{"load", noImages},
		{"charts", "name one directory that exists, as in: charts /tmp"},
		{"charts .", noImages},
		{"add", `Required flag "to" not set`},
		{"add --to x.run", "name the files to add, as in: add --to new.run maca.tar"},
		{"add --to x.run maca.tar", noImages},
		{"push --plain hub.example.com/metax", "flag provided but not defined: -plain"},
	} {
		args := slices.Collect(strings.FieldsSeq(test.args))
		if _, err := run(args...); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %s", test.args, err, test.want)
		}
	}
}
