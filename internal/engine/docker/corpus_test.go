// SPDX-License-Identifier: Apache-2.0

package docker_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/engine"
	"github.com/metax-ctk/container-toolkit/internal/engine/docker"
	"github.com/metax-ctk/container-toolkit/test/enginetest"
)

// corpus has as input daemon.json.
var corpus = enginetest.Editor[docker.Input]{
	Input: func(c *enginetest.Case) docker.Input {
		in := docker.Input{Path: "daemon.json", Version: c.Version}
		for _, text := range c.Inputs() {
			in.Text = text
		}
		return in
	},
	Read: docker.Read, Configure: docker.Configure, Remove: docker.Remove,
	Main:     func(in docker.Input) string { return in.Path },
	Accepted: checkLaws, Refused: checkRefused,
}

func TestCorpus(t *testing.T) { corpus.Test(t) }

// checkRefused checks that no function writes a file that it cannot read.
func checkRefused(t *testing.T, in docker.Input, s engine.Setup, _ error) {
	t.Helper()
	var syntax *engine.SyntaxError
	_, err := docker.Read(in)
	if err == nil {
		return // it can be read, and says what Configure did not like
	}
	if !errors.As(err, &syntax) || syntax.Line == 0 || syntax.Column == 0 {
		t.Errorf("%v, want a SyntaxError with line and column", err)
	}
	if changes, err := docker.Remove(in, s); !errors.As(err, &syntax) || changes != nil {
		t.Errorf("Remove: %v, %v", changes, err)
	}
}

// checkLaws checks what holds for every text that Configure accepts.
func checkLaws(t *testing.T, in docker.Input, s engine.Setup) {
	t.Helper()
	changes, err := docker.Configure(in, s)
	if err != nil {
		t.Fatal(err)
	}
	after := in
	after.Original, after.HasOriginal = in.Text, true
	for _, c := range changes {
		if c.Path != in.Path || !bytes.Equal(c.Before, in.Text) {
			t.Errorf("it changes %s, which was %q", c.Path, c.Before)
		}
		after.Text = c.After
	}
	if again, err := docker.Configure(after, s); err != nil || again != nil {
		t.Errorf("configured again: %v, %s", err, again)
	}
	checkKept(t, decode(t, in.Text), decode(t, after.Text), s)
	other := s
	other.Default, other.CDI = !s.Default, !s.CDI
	for _, flags := range []engine.Setup{s, other} {
		got := removed(t, after, flags)
		if d := cmp.Diff(decode(t, in.Text), decode(t, got)); d != "" || (in.Text == nil) != (got == nil) {
			t.Errorf("removed: %s", d)
		}
	}
	if len(changes) == 0 {
		return
	}
	// Somebody adds a key in front: ours go, his stays.
	edited := after
	at := bytes.IndexByte(after.Text, '{') + 1
	edited.Text = []byte(string(after.Text[:at]) + `"somebody": "else", ` + string(after.Text[at:]))
	want := decode(t, in.Text)
	want["somebody"] = "else"
	if d := cmp.Diff(want, decode(t, removed(t, edited, s))); d != "" {
		t.Errorf("removed after an edit: %s", d)
	}
	// Without the original what is left is no less than what was there, but for the
	// values that were replaced.
	edited.HasOriginal = false
	left := decode(t, removed(t, edited, s))
	if runtimes, _ := left["runtimes"].(map[string]any); s.Runtime != "" && runtimes[s.Name] != nil || left["somebody"] != "else" {
		t.Errorf("removed without the original: %v", left)
	}
}

func removed(t *testing.T, in docker.Input, s engine.Setup) []byte {
	t.Helper()
	changes, err := docker.Remove(in, s)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range changes {
		in.Text = c.After
	}
	if again, err := docker.Remove(in, s); err != nil || again != nil {
		t.Errorf("removed again: %v, %s", err, again)
	}
	return in.Text
}

func decode(t *testing.T, text []byte) map[string]any {
	t.Helper()
	text = bytes.TrimSpace(bytes.TrimPrefix(text, []byte("\uFEFF")))
	all := map[string]any{}
	if len(text) == 0 {
		return all
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if err := dec.Decode(&all); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	if all == nil {
		all = map[string]any{}
	}
	return all
}

// checkKept checks that after has everything of before except what the setup changes,
// and nothing else.
func checkKept(t *testing.T, before, after map[string]any, s engine.Setup) {
	t.Helper()
	for _, all := range []map[string]any{before, after} {
		delete(all, "default-runtime")
		delete(all, "cdi-spec-dirs")
		removeKeys(all, "features", func(m map[string]any) { delete(m, "cdi") })
		removeKeys(all, "runtimes", func(m map[string]any) {
			removeKeys(m, s.Name, func(m map[string]any) {
				for key := range m {
					if strings.EqualFold(key, "path") {
						delete(m, key)
					}
				}
			})
		})
	}
	if d := cmp.Diff(before, after); d != "" {
		t.Error(d)
	}
}

// removeKeys empties a map by less, and takes it out if nothing is left.
func removeKeys(all map[string]any, name string, less func(map[string]any)) {
	m, _ := all[name].(map[string]any)
	if less(m); len(m) == 0 {
		delete(all, name)
	}
}
