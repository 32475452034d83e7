// SPDX-License-Identifier: Apache-2.0

// Package gputest gives tests of GPUs their values and comparisons.
package gputest

import (
	"strings"
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// BDF parses a PCI address.
func BDF(t testing.TB, s string) gpu.BDF {
	t.Helper()
	b, err := gpu.ParseBDF(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// WantWarnings fails a test unless each warning contains what is wanted in its place.
func WantWarnings(t testing.TB, want, got []string) {
	t.Helper()
	if len(want) != len(got) {
		t.Fatalf("warnings are %q, want %q", got, want)
	}
	for i := range want {
		if !strings.Contains(got[i], want[i]) {
			t.Errorf("warning is %q, want one with %q", got[i], want[i])
		}
	}
}
