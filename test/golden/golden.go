// SPDX-License-Identifier: Apache-2.0

// Package golden compares what a test made with a file of the repository.
package golden

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Update is the option -update: what a test compares with is written anew.
var Update = flag.Bool("update", false, "rewrite the golden files, and what else in the repository tests make")

// Equal demands that the file has this text. With -update it writes the file.
func Equal[Text string | []byte](t testing.TB, file string, got Text) {
	t.Helper()
	if *Update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got; if that is meant: go test -run '^%s$' -update):\n%s", file, t.Name(), diff)
	}
}
