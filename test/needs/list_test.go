// SPDX-License-Identifier: Apache-2.0

package needs

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/metax-ctk/container-toolkit/test/testfile"
)

// mostForRoot is how many tests the list for root has. It may only get smaller: what can run
// as an ordinary user does.
const mostForRoot = 128

// TestList: each line of the list for root names a test that there is, and a reason.
func TestList(t *testing.T) {
	data := testfile.Text(t, "root")
	line := regexp.MustCompile(`^(\S+) (Test\w+): \S.*$`)
	tests := 0
	for text := range strings.Lines(data) {
		text = strings.TrimSuffix(text, "\n")
		if strings.HasPrefix(text, "#") {
			continue
		}
		tests++
		found := line.FindStringSubmatch(text)
		if found == nil {
			t.Errorf("not \"PACKAGE TEST: REASON\": %q", text)
			continue
		}
		if !declares(t, filepath.Join("../..", found[1]), found[2]) {
			t.Errorf("%s has no %s: %q", found[1], found[2], text)
		}
	}
	if tests > mostForRoot {
		t.Errorf("%d tests need root, %d before: let the new ones run as an ordinary user", tests, mostForRoot)
	}
	if tests < mostForRoot {
		t.Errorf("%d tests need root now: lower mostForRoot to that", tests)
	}
}

// declares reports whether a test file of a directory declares the test.
func declares(t *testing.T, dir, test string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		code := testfile.Text(t, file)
		if strings.Contains(code, "\nfunc "+test+"(t *testing.T)") {
			return true
		}
	}
	return false
}
