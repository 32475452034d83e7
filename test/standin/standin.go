// SPDX-License-Identifier: Apache-2.0

package standin

import (
	"bytes"
	"embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/test/needs"
	"github.com/metax-ctk/container-toolkit/test/programs"
)

//go:embed source
var source embed.FS

// Build writes a libmxsml.so that reports the node, and LIBRARY.txt, which it reads and
// writes, to dir, which is created if necessary. Faults are "KIND FUNCTION NUMBER", as
// the head of mxsml.c lists them. Without a C compiler the test is skipped.
func Build(t testing.TB, dir string, node gpu.Node, faults ...string) (lib string) {
	t.Helper()
	needs.Compiler(t)
	code, err := compiled()
	if err != nil {
		t.Fatal("compile the stand-in for libmxsml: ", err)
	}
	lib = filepath.Join(dir, "libmxsml.so")
	write(t, lib, code, 0o755)
	Tell(t, lib, node, faults...)
	return lib
}

// Tell changes what a library reports, and removes the slices created with it.
func Tell(t testing.TB, lib string, node gpu.Node, faults ...string) {
	t.Helper()
	var text bytes.Buffer
	text.WriteString(describe(node))
	for _, f := range faults {
		fmt.Fprintln(&text, "fault", f)
	}
	write(t, lib+".txt", text.Bytes(), 0o644)
}

// Without removes a function from a library, by renaming it there.
func Without(t testing.TB, lib, function string) {
	t.Helper()
	code, err := os.ReadFile(lib)
	if err != nil {
		t.Fatal(err)
	}
	name := []byte("\x00" + function + "\x00")
	if !bytes.Contains(code, name) {
		t.Fatalf("%s has no %s", lib, function)
	}
	other := bytes.Clone(name)
	other[len(other)-2] = '_'
	write(t, lib, bytes.ReplaceAll(code, name, other), 0o755)
}

// Source writes the C source and its header into a directory of the test.
func Source(t testing.TB) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.CopyFS(dir, source); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "source")
}

// Program builds metax-mxsml in dir, which is created if necessary.
func Program(t testing.TB, dir string) (path string) {
	t.Helper()
	code, err := program()
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(dir, "metax-mxsml")
	write(t, path, code, 0o755)
	return path
}

// SMI returns the file of metax-sim-smi, for sim.WithSMI.
func SMI(t testing.TB) []byte {
	t.Helper()
	code, err := smi()
	if err != nil {
		t.Fatal(err)
	}
	return code
}

// compiled is the library, program metax-mxsml and smi metax-sim-smi; each is compiled
// once per test binary and leaves no file behind.
var (
	compiled = sync.OnceValues(func() ([]byte, error) {
		return made("libmxsml.so", func(dir string) error {
			if err := os.CopyFS(dir, source); err != nil {
				return err
			}
			compile := exec.Command("gcc", "-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared", "-pthread",
				"-o", filepath.Join(dir, "libmxsml.so"), filepath.Join(dir, "source", "mxsml.c"), "-ldl")
			text, err := compile.CombinedOutput()
			if err != nil {
				return fmt.Errorf("%s: %w\n%s", compile, err, text)
			}
			return nil
		})
	})
	program = sync.OnceValues(func() ([]byte, error) { return built("metax-mxsml") })
	smi     = sync.OnceValues(func() ([]byte, error) { return built("metax-sim-smi") })
)

// built is a program of this project.
func built(name string) ([]byte, error) {
	return made(name, func(dir string) error {
		return programs.Build(dir, "github.com/metax-ctk/container-toolkit/cmd/"+name)
	})
}

// made is the file that a function makes in a directory.
func made(name string, how func(dir string) error) ([]byte, error) {
	dir, err := os.MkdirTemp("", "standin")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := how(dir); err != nil {
		return nil, err
	}
	return os.ReadFile(filepath.Join(dir, name))
}

// write replaces a file, so that a process that has the old one open keeps the old
// content.
func write(t testing.TB, path string, data []byte, perm os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	fresh := path + ".fresh"
	if err := os.WriteFile(fresh, data, perm); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(fresh, path); err != nil {
		t.Fatal(err)
	}
}
