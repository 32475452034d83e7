// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/test/testfile"
)

const e2e = "../../k8s/test/e2e"

// choose runs a copy of the program and returns its patterns, without ^ and $, and what it says.
func choose(t *testing.T, program, rotation string, env ...string) (rows []string, says string, err error) {
	t.Helper()
	cmd := exec.Command(program)
	cmd.Env = append(cmd.Environ(), append([]string{"CI=", "METAX_K8S_ROTATION=" + rotation}, env...)...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	for line := range strings.Lines(out.String()) {
		rows = append(rows, strings.TrimSuffix(strings.TrimPrefix(line, "^"), "$\n"))
	}
	return rows, errs.String(), err
}

// listed returns the rows of a file of patterns.
func listed(t *testing.T, name string) (rows []string) {
	t.Helper()
	text := testfile.Text(t, filepath.Join(e2e, name))
	pattern := regexp.MustCompile(`^\^(Test\w+)\$\n$`)
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		match := pattern.FindStringSubmatch(line)
		if match == nil {
			t.Fatalf("%s: %q is not the pattern of one row, such as ^TestCards$", name, line)
		}
		rows = append(rows, match[1])
	}
	return rows
}

// tests returns the tests of k8s/test/e2e, as Go reads them.
func tests(t *testing.T) (names []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(e2e, "*_test.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("found no tests: %v", err)
	}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") && f.Name.Name != "TestMain" {
				names = append(names, f.Name.Name)
			}
		}
	}
	slices.Sort(names)
	return names
}

// TestEveryRow: each test of k8s/test/e2e is in exactly one of daily, nightly and the rows that
// rotate; each of the latter is chosen by some hash, and by no hash another one.
func TestEveryRow(t *testing.T) {
	got := append(listed(t, "daily"), listed(t, "nightly")...)
	fixed, rotating := len(got), map[string]bool{}
	want := tests(t)
	for i := range len(want) - fixed {
		hash := fmt.Sprintf("%012x%012x%016x", 1000*(len(want)-fixed)+i, i, 0)
		rows, says, err := choose(t, "./choose", hash)
		if err != nil || len(rows) != 2 || rows[0] == rows[1] {
			t.Fatalf("%s chose %q, want two rows: %v: %s", hash, rows, err, says)
		}
		rotating[rows[0]], rotating[rows[1]] = true, true
	}
	for row := range rotating {
		got = append(got, row)
	}
	slices.Sort(got)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("the tests (-), and the rows of daily, nightly and those that some hash chooses (+):\n%s", d)
	}
}

func TestChoose(t *testing.T) {
	const hash, other = "00000000000000000000000000000000deadbeef", "0123456789abcdef0123456789abcdef01234567"
	rows, says, err := choose(t, "./choose", hash)
	again := "the same again: METAX_K8S_ROTATION=" + hash + " make k8s-e2e\n"
	if err != nil || !strings.HasPrefix(says, "k8s/test/e2e: beside the rows in daily: "+strings.Join(rows, " ")+"; ") || !strings.HasSuffix(says, again) {
		t.Errorf("it does not say how to have %q again: %v: %s", rows, err, says)
	}
	if same, _, _ := choose(t, "./choose", hash); !slices.Equal(rows, same) {
		t.Errorf("one hash chose %q, then %q", rows, same)
	}
	if others, _, _ := choose(t, "./choose", other); slices.Equal(rows, others) {
		t.Errorf("%s chose the rows of another hash, %q", other, others)
	}
	if one, says, err := choose(t, "./choose", rows[1]); err != nil || !slices.Equal(one, rows[1:]) {
		t.Errorf("its name chose %q, want %q: %v: %s", one, rows[1:], err, says)
	}
	fixed := append(listed(t, "daily")[:1], listed(t, "nightly")[0])
	for _, bad := range append(fixed, "Test", "TestNone", hash[1:], strings.ToUpper(hash), rows[0]+" "+rows[1], ".*") {
		rows, says, err := choose(t, "./choose", bad)
		if err == nil || rows != nil || !strings.Contains(says, "METAX_K8S_ROTATION is \""+bad+"\", but must be ") {
			t.Errorf("%q chose %q, want a refusal: %v: %s", bad, rows, err, says)
		}
	}
}

// TestTree: the hash is that of the tree of the last commit. Without git and its history no row
// is chosen, which is a failure in CI.
func TestTree(t *testing.T) {
	source := t.TempDir()
	sh := func(script string) string {
		cmd := exec.Command("bash", "-euc", script, "bash", source)
		cmd.Env = append(cmd.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_CEILING_DIRECTORIES="+filepath.Dir(source))
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v: %s", script, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	sh(`mkdir -p "$1"/{test/rotation,k8s/test/e2e}; cp choose "$1/test/rotation"; cd ` + e2e + `; cp daily nightly *_test.go "$1/k8s/test/e2e"`)
	program := filepath.Join(source, "test/rotation/choose")
	for _, ci := range []string{"", "true"} {
		rows, says, err := choose(t, program, "", "CI="+ci, "GIT_CEILING_DIRECTORIES="+filepath.Dir(source))
		if rows != nil || !strings.Contains(says, "git knows no commit here") || (err != nil) != (ci != "") {
			t.Errorf("with CI=%q it chose %q: %v: %s", ci, rows, err, says)
		}
	}
	commit := `cd "$1"; git init -q; git add -A; git -c user.name=a -c user.email=a@b commit -qm a; git rev-parse 'HEAD^{tree}'`
	for range 2 {
		tree := sh(commit)
		want, _, _ := choose(t, "./choose", tree)
		if rows, says, err := choose(t, program, ""); err != nil || !slices.Equal(rows, want) || !strings.Contains(says, tree) {
			t.Errorf("it chose %q, want %q of the tree %s: %v: %s", rows, want, tree, err, says)
		}
		sh(`echo more >>"$1/k8s/README.md"`)
	}
}
