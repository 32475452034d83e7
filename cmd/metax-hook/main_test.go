package main

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The environment, which may be an image's, is gone before anything is looked at,
// whatever the command line says.
func TestMainClearsEnvironment(t *testing.T) {
	args, out, env := os.Args, os.Stdout, os.Environ()
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		null.Close()
		os.Args, os.Stdout = args, out
		for _, v := range env {
			name, value, _ := strings.Cut(v, "=")
			os.Setenv(name, value)
		}
	}()
	for _, word := range []string{"--help", "--version"} {
		os.Setenv("LD_PRELOAD", "/proc/self/cwd/poc.so")
		os.Args, os.Stdout = []string{"metax-hook", word}, null
		main()
		if diff := cmp.Diff([]string{}, os.Environ()); diff != "" {
			t.Errorf("after %s: %s", word, diff)
		}
	}
}
