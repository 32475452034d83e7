// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/lease"
	"github.com/metax-ctk/container-toolkit/internal/lease/ledger"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

// fresh returns a ledger with one lease, "a", and its directory.
func fresh(t *testing.T) (*ledger.Ledger, string) {
	t.Helper()
	l, dir := empty(t)
	update(t, l, add("a"))
	return l, dir
}

// empty returns a ledger whose directory is made and holds no state.
func empty(t *testing.T) (*ledger.Ledger, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run", "metax-container-toolkit", "leases")
	l := ledger.New(dir, boot)
	if err := l.Init(-1); err != nil {
		t.Fatal(err)
	}
	return l, dir
}

func update(t *testing.T, l *ledger.Ledger, change func(*lease.State) error) {
	t.Helper()
	if err := l.Update(context.Background(), change); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, l *ledger.Ledger) lease.State {
	t.Helper()
	s, err := l.Read()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// holding is the state, as it is read, with these leases.
func holding(ids ...string) lease.State {
	s := lease.NewState(boot)
	s.New = false
	for _, id := range ids {
		s.Leases = append(s.Leases, leaseOf(id))
	}
	return s
}

// check compares what is read with a state.
func check(t *testing.T, l *ledger.Ledger, want lease.State) {
	t.Helper()
	if d := cmp.Diff(want, read(t, l)); d != "" {
		t.Error(d)
	}
}

// names checks what is in a directory.
func names(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func put(t *testing.T, path, text string) {
	t.Helper()
	testfile.Write(t, path, text, 0o644)
}

func text(t *testing.T, path string) string {
	t.Helper()
	return testfile.Text(t, path)
}

func TestReadNothing(t *testing.T) {
	check(t, ledger.New(filepath.Join(t.TempDir(), "none"), boot), lease.NewState(boot))
	l, _ := empty(t)
	check(t, l, lease.NewState(boot))
}

func TestUpdate(t *testing.T) {
	l, dir := fresh(t)
	check(t, l, holding("a"))
	names(t, dir, "leases.json", "lock")
	file := text(t, l.Path())
	if !strings.HasPrefix(file, "{\n  \"apiVersion\": \"metax-ctk/v1\",\n") || !strings.HasSuffix(file, "\n}\n") {
		t.Errorf("the file is not indented JSON and a newline:\n%s", file)
	}
	before := info(t, l.Path())
	update(t, l, func(s *lease.State) error {
		if d := cmp.Diff(holding("a"), *s); d != "" {
			t.Error(d)
		}
		return nil
	})
	if !os.SameFile(before, info(t, l.Path())) {
		t.Error("an Update without a change wrote the file")
	}
	wrong := errors.New("wrong")
	if err := l.Update(context.Background(), func(s *lease.State) error { s.Leases = nil; return wrong }); err != wrong {
		t.Errorf("error is %v, want that of the change", err)
	}
	check(t, l, holding("a"))
}

// A change that breaks what the file promises is not written.
func TestUpdateRefuses(t *testing.T) {
	for name, change := range map[string]func(*lease.State) error{
		"without GPUs": func(s *lease.State) error { s.Leases[0].GPUs = nil; return nil },
		"unsorted": func(s *lease.State) error {
			s.Leases = append(s.Leases, leaseOf("0"))
			return nil
		},
		"twice":        func(s *lease.State) error { s.Leases = append(s.Leases, leaseOf("a")); return nil },
		"other boot":   func(s *lease.State) error { s.Boot = "other"; return nil },
		"other kind":   func(s *lease.State) error { s.Kind = "Node"; return nil },
		"not a ticket": func(s *lease.State) error { s.Queue = []lease.Ticket{{}}; return nil },
		"too large":    func(s *lease.State) error { s.Leases[0].Engine = strings.Repeat("x", 17<<20); return nil },
	} {
		l, _ := fresh(t)
		err := l.Update(context.Background(), change)
		if err == nil || !strings.Contains(err.Error(), "refuse to write") {
			t.Errorf("%s: error is %v", name, err)
		}
		check(t, l, holding("a"))
	}
}

func TestUpdateCanceled(t *testing.T) {
	l, _ := fresh(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := l.Update(ctx, add("b")); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
	check(t, l, holding("a"))
}

// After a boot nobody holds anything.
func TestOtherBoot(t *testing.T) {
	l, dir := fresh(t)
	next := ledger.New(dir, "next")
	check(t, next, lease.NewState("next"))
	update(t, next, func(s *lease.State) error {
		if d := cmp.Diff(lease.NewState("next"), *s); d != "" {
			t.Error(d)
		}
		return nil
	})
	names(t, dir, "leases.json", "lock")
	want := lease.NewState("next")
	want.New = false
	check(t, next, want)
	check(t, l, lease.NewState(boot))
}

// What cannot be read as a state is a new one that says why, and is kept aside.
func TestDamaged(t *testing.T) {
	l, _ := fresh(t)
	whole := text(t, l.Path())
	state := func(rest string) string {
		return fmt.Sprintf(`{"apiVersion": "metax-ctk/v1", "kind": "Leases", "boot": %q%s}`, boot, rest)
	}
	for name, c := range map[string]struct{ file, want string }{
		"nothing":          {"", "unexpected end of JSON input"},
		"half":             {whole[:len(whole)/2], "unexpected end of JSON input"},
		"zeros":            {strings.Repeat("\x00", 200), `invalid character '\x00'`},
		"garbage":          {"\x7fELF\x02\x01", `invalid character '\x7f'`},
		"two":              {whole + whole, "invalid character '{' after top-level value"},
		"tail":             {whole + "x", "invalid character 'x' after top-level value"},
		"not an object":    {`[]`, "cannot unmarshal array"},
		"no version":       {`{}`, "it states no apiVersion"},
		"version a number": {`{"apiVersion": 2}`, "cannot unmarshal number"},
		"wrong kind":       {strings.Replace(whole, `"Leases"`, `"Node"`, 1), `its kind is "Node", not "Leases"`},
		"wrong type":       {state(`, "leases": {}`), "cannot unmarshal object"},
		"bad GPU":          {state(`, "leases": [{"id": "a", "gpus": ["0"]}]`), `parse "0"`},
		"no GPU":           {state(`, "leases": [{"id": "a", "gpus": []}]`), `lease "a" has no GPU`},
		"no ID":            {state(`, "leases": [{"gpus": ["0000:0e:00.0"]}]`), `leases are not sorted: "" after ""`},
		"twice":            {state(`, "leases": [{"id": "a", "gpus": ["0000:0e:00.0"]}, {"id": "a", "gpus": ["0000:0e:00.0"]}]`), `leases are not sorted: "a" after "a"`},
		"unsorted":         {state(`, "leases": [{"id": "b", "gpus": ["0000:0e:00.0"]}, {"id": "a", "gpus": ["0000:0e:00.0"]}]`), `leases are not sorted: "a" after "b"`},
		"queue":            {state(`, "queue": [{"id": "a"}, {"count": 2}]`), `request 2 of the queue has no ID`},
		"too large":        {whole + strings.Repeat(" ", 16<<20), "bytes, more than 16777216"},
	} {
		t.Run(name, func(t *testing.T) {
			l, dir := empty(t)
			put(t, l.Path(), c.file)
			got := read(t, l)
			if !strings.HasPrefix(got.Lost, "leases.json is damaged: ") || !strings.Contains(got.Lost, c.want) {
				t.Errorf("lost because %q, want %q", got.Lost, c.want)
			}
			want := lease.NewState(boot)
			want.Lost = got.Lost
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
			update(t, l, func(s *lease.State) error {
				if d := cmp.Diff(want, *s); d != "" {
					t.Error(d)
				}
				return add("b")(s)
			})
			check(t, l, holding("b"))
			names(t, dir, "leases.json", "leases.json.damaged", "lock")
			if text(t, l.Path()+".damaged") != c.file {
				t.Error("the damaged file was not kept as it was")
			}
			put(t, l.Path(), "again")
			update(t, l, add("c"))
			if got := text(t, l.Path()+".damaged"); got != "again" {
				t.Errorf("kept %q, want the last damaged file", got)
			}
		})
	}
}

// A state that may mean more than this program knows stops it.
func TestNewer(t *testing.T) {
	for _, file := range []string{
		`{"apiVersion": "metax-ctk/v2", "kind": "Leases", "boot": "` + boot + `", "leases": []}`,
		`{"apiVersion": "metax-ctk/v2", "leases": {"a": 1}}`,
	} {
		l, _ := empty(t)
		put(t, l.Path(), file)
		_, readErr := l.Read()
		for action, err := range map[string]error{"read": readErr, "change": l.Update(context.Background(), add("b"))} {
			var newer *ledger.NewerError
			if !errors.As(err, &newer) {
				t.Fatalf("%s: error is %v, want a NewerError", action, err)
			}
			want := action + " leases: " + l.Path() + ` has version "metax-ctk/v2", which this program does not know: upgrade this program (metax-ctk version), or stop the containers that have GPUs, then run: sudo rm ` + l.Path()
			if d := cmp.Diff(want, err.Error()); d != "" {
				t.Error(d)
			}
		}
		if text(t, l.Path()) != file {
			t.Error("the file was written")
		}
	}
}

// Temporary files of writers that were killed go with the next write.
func TestSweep(t *testing.T) {
	l, dir := fresh(t)
	put(t, filepath.Join(dir, ".leases.json.123.tmp"), "{")
	put(t, filepath.Join(dir, ".leases.json.damaged.45.tmp"), "{")
	put(t, filepath.Join(dir, ".other.tmp"), "")
	update(t, l, add("b"))
	names(t, dir, ".other.tmp", "leases.json", "lock")
}

func info(t *testing.T, path string) fs.FileInfo {
	t.Helper()
	i, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	return i
}
