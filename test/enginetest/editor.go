// SPDX-License-Identifier: Apache-2.0

package enginetest

import (
	"bytes"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/engine"
)

// Editor is the editor of an engine's configuration, as its package has it.
type Editor[In any] struct {
	// Input makes the input from an archive. Flags are those of this engine alone.
	Input func(*Case) In
	Flags []string

	Read              func(In) (engine.State, error)
	Configure, Remove func(In, engine.Setup) ([]engine.Change, error)

	// Main is the path of the file that is edited in its own form: byte order mark, line
	// ends, and end. It is nil if there is none.
	Main func(In) string
	// States is whether the archives have what the input says.
	States bool
	// Accepted and Refused check what else holds for an input.
	Accepted func(*testing.T, In, engine.Setup)
	Refused  func(*testing.T, In, engine.Setup, error)
}

// Load reads an archive and makes its input.
func (e Editor[In]) Load(t testing.TB, path string) (*Case, In) {
	t.Helper()
	c := Load(t, path, e.Flags...)
	return c, e.Input(c)
}

// Test edits the input of each archive and compares the results.
func (e Editor[In]) Test(t *testing.T) {
	for _, path := range Paths(t) {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			c, in := e.Load(t, path)
			got := map[string]string{}
			if e.States {
				if state, err := e.Read(in); err == nil {
					got["state"] = describe(state)
				}
			}
			changes, err := e.Configure(in, c.Setup)
			if err != nil {
				got["error"] = err.Error() + "\n"
			}
			for _, change := range changes {
				got["after "+change.Path] = e.after(t, c, in, change)
			}
			c.compare(t, got)
			if err == nil {
				e.Accepted(t, in, c.Setup)
			} else if e.Refused != nil {
				e.Refused(t, in, c.Setup, err)
			}
		})
	}
}

// after is the content of a changed file as an archive shows it.
func (e Editor[In]) after(t *testing.T, c *Case, in In, change engine.Change) string {
	t.Helper()
	if change.Mode != 0o644 {
		t.Errorf("%s gets mode %o", change.Path, change.Mode)
	}
	switch {
	case change.After == nil:
		return "(gone)\n"
	case e.Main == nil || e.Main(in) != change.Path:
		return strings.ReplaceAll(string(change.After), "\r\n", "\n")
	}
	text := c.plain(change.After)
	if !bytes.Equal(c.disguise(text), change.After) {
		t.Errorf("%s lost its byte order mark, line ends or end: %q", change.Path, change.After)
	}
	return string(text)
}

func describe(s engine.State) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(s.Runtimes)) {
		fmt.Fprintf(&b, "runtime %s %s\n", name, s.Runtimes[name])
	}
	fmt.Fprintf(&b, "default %q\ndirs %q\nsystemd %d\n", s.Default, s.SpecDirs, s.Systemd)
	return b.String()
}
