// SPDX-License-Identifier: Apache-2.0

package scrub_test

import (
	"strings"
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/jsontree"
	"github.com/metax-ctk/container-toolkit/internal/snapshot/scrub"
	"github.com/metax-ctk/container-toolkit/internal/toml"
)

// FuzzKeep: a text that parses still parses afterwards, and Keep does not change it
// again.
func FuzzKeep(f *testing.F) {
	for _, text := range []string{
		`{"a": "Zk9", "runtimes": {"Zk9": {"path": "/x"}, "b": 1}, "b": [1, "Zk9", {}]}`, `{"a": `, `"Zk9"`, "null", "{}", "\ufeff{}",
		"a = 'Zk9'\n", "[plugins.\"b.c\".'Zk9']\nb = [\"\"\"x\"\"\"\"\", '''\ny''', 1] # Zk9\n", "imports = [ 'a' # x\n , 'b' ]\r\n",
		"plugins.b = {enable_cdi = true, d = \"d\\u00e9\", containerd = {}}\n[[x]]\n[[x]]\r\n", "a = 1979-05-27 07:32:00\nversion=+inf", "imports = [ # x\n]\n", `'version' = "\"\""`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for name, parse := range map[string]func([]byte) error{
			"/etc/docker/daemon.json": func(text []byte) error {
				_, err := jsontree.Parse([]byte(strings.TrimPrefix(string(text), "\ufeff")))
				return err
			},
			"/etc/containerd/config.toml": func(text []byte) error { _, err := toml.Parse(text); return err },
		} {
			if parse([]byte(text)) != nil {
				continue
			}
			got := scrub.New().Keep(name, text)
			if err := parse([]byte(got)); err != nil {
				t.Fatalf("%s: %q became %q: %v", name, text, got, err)
			}
			if again := scrub.New().Keep(name, got); again != got {
				t.Fatalf("%s: %q became %q, and that %q", name, text, got, again)
			}
		}
	})
}
