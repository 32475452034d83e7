// SPDX-License-Identifier: Apache-2.0

package dockerargs

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestQuote(t *testing.T) {
	tests := []struct {
		argv []string
		want string
	}{
		{nil, ""},
		{[]string{"docker", "run", "--device=metax-tech.com/gpu=0", "-eA=b", "img:1@sha256:0", "ls"}, "docker run --device=metax-tech.com/gpu=0 -eA=b img:1@sha256:0 ls"},
		{[]string{"docker", "run", "-e", "A=b c", ""}, "docker run -e 'A=b c' ''"},
		{[]string{"/opt/a b/docker", "it's"}, `'/opt/a b/docker' 'it'\''s'`},
		{[]string{"A=b", "A=b"}, "'A=b' A=b"},
		{[]string{"docker", "$HOME", "`id`", "a;b", "*", "~", "#", "!", `\`, "\"", "{a,b}", "新"}, "docker '$HOME' '`id`' 'a;b' '*' '~' '#' '!' '\\' '\"' '{a,b}' '新'"},
	}
	for _, tt := range tests {
		if d := cmp.Diff(tt.want, Quote(tt.argv)); d != "" {
			t.Errorf("Quote(%q) -want +got:\n%s", tt.argv, d)
		}
	}
}

// A shell reads back what Quote wrote.
func TestQuoteThroughShell(t *testing.T) {
	var every strings.Builder
	for c := rune(1); c < 0x80; c++ {
		every.WriteRune(c)
	}
	argv := []string{
		every.String(), "", " ", "'", "''", "'a'", `\`, `\'`, "-n", "--", "a\nb\n", "\n", "$(id)", "${x}", "a=b", "=",
		"*", "?", "[a]", "{1..3}", "~root", "!!", "#x", "&", "|", ">x", "\t", "\x1b[0m", "新", "\xff\xfe", "%s", `"`,
	}
	for c := 1; c < 0x100; c++ {
		argv = append(argv, string([]byte{byte(c)}))
	}
	out, err := exec.Command("sh", "-c", `f() { printf '%s\0' "$@"; }; `+Quote(append([]string{"f"}, argv...))).Output()
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	if d := cmp.Diff(argv, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}
