package scrub_test

import (
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"

	"github.com/metax-ctk/container-toolkit/internal/jsontree"
	"github.com/metax-ctk/container-toolkit/internal/snapshot/scrub"
)

// FuzzConfig: what parses parses afterwards, with as many things in it.
func FuzzConfig(f *testing.F) {
	for _, text := range []string{
		`{"a": "Zk9", "runtimes": {"Zk9": {"path": "/x"}}, "b": [1, "Zk9", {}]}`, `{"a": `, `"Zk9"`, "null", "{}", "\ufeff{}",
		"a = 'Zk9'\n", "[a.\"b.c\".'Zk9']\nb = [\"\"\"x\"\"\"\"\", '''\ny''', 1] # Zk9\n",
		"a.b = {c = \"d\\u00e9\", e = [[{}]]}\n[[x]]\n[[x]]\r\n", "a = 1979-05-27 07:32:00\nb=+inf", "a = [ # x\n]\n", `'a.b' = "\"\""`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		body := strings.TrimPrefix(text, "\ufeff")
		before, err := jsontree.Parse([]byte(body))
		if err == nil {
			got := scrub.New().Config(scrub.JSON, text)
			after, err := jsontree.Parse([]byte(strings.TrimPrefix(got, "\ufeff")))
			if err != nil || before.Root().Kind() != after.Root().Kind() {
				t.Fatalf("%q became %q: %v", text, got, err)
			}
		}
		var was, is map[string]any
		if toml.Unmarshal([]byte(body), &was) == nil {
			got := scrub.New().Config(scrub.TOML, text)
			if err := toml.Unmarshal([]byte(strings.TrimPrefix(got, "\ufeff")), &is); err != nil || len(was) != len(is) {
				t.Fatalf("%q became %q: %v", text, got, err)
			}
		}
	})
}
