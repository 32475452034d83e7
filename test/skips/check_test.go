// SPDX-License-Identifier: Apache-2.0

package skips

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// log is the output of go test -v for a row, two parallel tests and a passing test.
const log = `=== RUN   TestRows
=== RUN   TestRows/sid
    rows_test.go:3: needs root
--- PASS: TestRows (0.00s)
    --- SKIP: TestRows/sid (0.00s)
=== RUN   TestReal
=== PAUSE TestReal
=== RUN   TestReach
=== PAUSE TestReach
=== CONT  TestReal
    real_test.go:4: needs an engine
=== CONT  TestReach
    reach_test.go:5: needs a network
--- SKIP: TestReach (0.00s)
--- SKIP: TestReal (0.00s)
=== RUN   TestFine
--- PASS: TestFine (0.00s)
PASS
ok  	x	0.004s
`

func TestCheck(t *testing.T) {
	const mustRun = "test/skips/check: these tests must run\n"
	const rows, reach, real = "x TestRows: needs root\n", "x TestReach: needs a network\n", "x TestReal: needs an engine\n"
	for name, c := range map[string]struct{ log, allowed, list, want string }{
		"nothing skipped": {log: "=== RUN   TestFine\n--- PASS: TestFine (0.00s)\nPASS\nok  \tx\t0.004s\n"},
		"all skipped":     {log: log, want: "skipped: " + reach + "skipped: " + real + "skipped: " + rows + mustRun},
		"a name is whole": {log: log, allowed: "TestRea|TestReach|TestRows/si", want: "skipped: " + real + "skipped: " + rows + mustRun},
		"rows of a test":  {log: log, allowed: "TestRows|TestRe[a-z]+"},
		"no test":         {log: "testing: warning: no tests to run\nPASS\n", want: "testing: warning: no tests to run\n" + mustRun},
		"listed":          {log: log, allowed: "TestRows", list: "# why\n" + reach + real},
		"not listed":      {log: log, allowed: "TestRows", list: reach, want: "skipped: " + real + mustRun},
		"another reason": {log: log, allowed: "TestR(ows|each)", list: "x TestReal: because\n", want: "not skipped, so it does not belong in LIST: x TestReal: because\n" +
			"skipped: " + real + mustRun},
		"another package": {log: log, allowed: "TestR(ows|each)", list: "y TestReal: why\n", want: "skipped: " + real +
			"not skipped, so it does not belong in LIST: y TestReal: why\n" + mustRun},
		"it runs now": {log: log, allowed: "TestR.*", list: "x TestFine: why\n", want: "not skipped, so it does not belong in LIST: x TestFine: why\n" + mustRun},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			args := []string{filepath.Join(dir, "log"), c.allowed}
			if c.list != "" {
				args = append(args, filepath.Join(dir, "list"))
			}
			if err := errors.Join(os.WriteFile(args[0], []byte(c.log), 0o644), os.WriteFile(filepath.Join(dir, "list"), []byte(c.list), 0o644)); err != nil {
				t.Fatal(err)
			}
			out, err := exec.Command("./check", args...).CombinedOutput()
			got := strings.ReplaceAll(string(out), filepath.Join(dir, "list"), "LIST")
			if diff := cmp.Diff(c.want, got); diff != "" || (err == nil) != (c.want == "") {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}

// TestShow: of a package that failed all is shown but what passed, of the others one line.
func TestShow(t *testing.T) {
	show := exec.Command("./show")
	show.Stdin = strings.NewReader(log + "# y\ny.go:1: undefined: z\nFAIL\ty [build failed]\n=== RUN   TestBad\n    bad_test.go:1: why\n--- FAIL: TestBad (0.00s)\n--- PASS: TestGood (0.00s)\nFAIL\nFAIL\tz\t0.1s\nFAIL\n")
	out, err := show.Output()
	want := "ok  \tx\t0.004s\n# y\ny.go:1: undefined: z\nFAIL\ty [build failed]\n    bad_test.go:1: why\n--- FAIL: TestBad (0.00s)\nFAIL\nFAIL\tz\t0.1s\n"
	if diff := cmp.Diff(want, string(out)); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}
