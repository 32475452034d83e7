package skips

import (
	"os"
	"os/exec"
	"path/filepath"
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
	for name, c := range map[string]struct{ log, allowed, want string }{
		"nothing skipped": {log: "=== RUN   TestFine\n--- PASS: TestFine (0.00s)\nPASS\n"},
		"all skipped": {log, "", "skipped: TestRows/sid:    rows_test.go:3: needs root\n" +
			"skipped: TestReach:    reach_test.go:5: needs a network\nskipped: TestReal:    real_test.go:4: needs an engine\n" + mustRun},
		"a name is whole": {log, "TestRea|TestReach|TestRows/si", "skipped: TestRows/sid:    rows_test.go:3: needs root\n" +
			"skipped: TestReal:    real_test.go:4: needs an engine\n" + mustRun},
		"rows of a test": {log, "TestRows|TestRe[a-z]+", ""},
		"no test":        {"testing: warning: no tests to run\nPASS\n", "", "testing: warning: no tests to run\n" + mustRun},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "log")
			if err := os.WriteFile(path, []byte(c.log), 0o644); err != nil {
				t.Fatal(err)
			}
			out, err := exec.Command("./check", path, c.allowed).CombinedOutput()
			if diff := cmp.Diff(c.want, string(out)); diff != "" || (err == nil) != (c.want == "") {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}
