// SPDX-License-Identifier: Apache-2.0

// Package needs skips tests that this user or machine cannot run. CI refuses the tests that
// were skipped (test/skips).
package needs

import (
	_ "embed"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
)

// Env returns an environment variable, and skips a test without it. why says what it has,
// as "with the engines that test/e2e/run unpacks".
func Env(t testing.TB, name, why string) string {
	t.Helper()
	value := os.Getenv(name)
	if value == "" {
		t.Skipf("needs %s, %s", name, why)
	}
	return value
}

// Root skips a test that only root can run. why completes "needs root, ", as "to mount".
func Root(t testing.TB, why string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root, " + why)
	}
}

//go:embed compiler
var compiler string

var findCompiler = sync.OnceValues(func() ([]byte, error) { return exec.Command("bash", "-c", compiler).Output() })

// Compiler skips a test on a machine without a C compiler and its headers.
func Compiler(t testing.TB) {
	t.Helper()
	if why, err := findCompiler(); err != nil {
		t.Skip(strings.TrimSpace(string(why)))
	}
}
