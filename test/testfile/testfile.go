// SPDX-License-Identifier: Apache-2.0

// Package testfile reads and writes the files of a test, which ends at the first error. What is
// written gets the directories that are missing above it.
package testfile

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// Read is the content of a file.
func Read(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Text is Read as a string.
func Text(t testing.TB, path string) string {
	t.Helper()
	return string(Read(t, path))
}

// Write is os.WriteFile.
func Write[Text ~string | ~[]byte](t testing.TB, path string, text Text, perm fs.FileMode) {
	t.Helper()
	Mkdir(t, filepath.Dir(path), 0o755)
	if err := os.WriteFile(path, []byte(text), perm); err != nil {
		t.Fatal(err)
	}
}

// Mkdir is os.MkdirAll.
func Mkdir(t testing.TB, path string, perm fs.FileMode) {
	t.Helper()
	if err := os.MkdirAll(path, perm); err != nil {
		t.Fatal(err)
	}
}

// Symlink is os.Symlink.
func Symlink(t testing.TB, target, path string) {
	t.Helper()
	Mkdir(t, filepath.Dir(path), 0o755)
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
}
