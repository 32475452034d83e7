// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/lease"
	"github.com/metax-ctk/container-toolkit/internal/terminal"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

func TestHolderOf(t *testing.T) {
	const locks = `1: POSIX  ADVISORY  WRITE 10 00:1a:42 0 EOF
2: FLOCK  ADVISORY  WRITE 11 00:1a:421 0 EOF
3: FLOCK  ADVISORY  WRITE 12 00:1b:42 0 EOF
4: FLOCK  ADVISORY  WRITE 4711 00:1a:42 0 EOF
4: -> FLOCK  ADVISORY  WRITE 13 00:1a:42 0 EOF
5: -> FLOCK  ADVISORY  WRITE 14 00:1a:43 0 EOF
6: FLOCK  ADVISORY  WRITE -1 00:1a:44 0 EOF
7: LEASE  ACTIVE    READ 15 00:1a:45 0 EOF
8: FLOCK
`
	for file, want := range map[string]int{"00:1a:42": 4711, "00:1b:42": 12, "00:1a:43": 0, "00:1a:44": 0, "00:1a:45": 0, "EOF": 0} {
		if got := holderOf(locks, file); got != want {
			t.Errorf("%s is locked by %d, want %d", file, got, want)
		}
	}
}

func TestDecodeLarge(t *testing.T) {
	want := large()
	data, err := record{state: want}.encodeState("boot")
	if err != nil {
		t.Fatal(err)
	}
	got, err := decodeState(data, "boot")
	if err != nil {
		t.Fatal(err)
	}
	want.New = false
	if d := cmp.Diff(want, got.state); d != "" {
		t.Error(d)
	}
	if got.foreign != nil {
		t.Error("our own file has foreign fields")
	}
}

// The reader takes anything. What it accepts it writes so that it reads the same
// again, and with everything in it that it does not know.
func FuzzDecode(f *testing.F) {
	s := large()
	s.Leases, s.Seen = s.Leases[:2], nil
	data, err := record{state: s}.encodeState("boot")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add(data[:len(data)/2])
	f.Add(bytes.Replace(data, []byte(`"rev"`), []byte(`"share": 1e400, "Rev"`), 1))
	f.Add([]byte(`{"apiVersion": "metax-ctk/v1", "kind": "Leases", "boot": "boot", "new": {"a": [1]}, "queue": [{"id": "a", "seq": 1, "new": null}], "seen": {"x": {"y": 1}}}`))
	f.Add([]byte(`{"apiVersion": "metax-ctk/v1", "kind": "Leases", "boot": "boot", "Queue": null, "queue": [{"id": "a"}], "ſeen": {}}`))
	f.Add([]byte(`{"apiVersion": "metax-ctk/v1", "kind": "Leases", "boot": "boot", "Next": 0, "next": 1}`))
	f.Add([]byte(`{"apiVersion": "metax-ctk/v2"}`))
	f.Add([]byte(`{"apiVersion": "metax-ctk/v1", "kind": "Leases", "boot": "other"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := decodeState(data, "boot")
		var damaged damage
		var newer *NewerError
		if err != nil {
			if !errors.As(err, &damaged) && !errors.As(err, &newer) {
				t.Fatalf("error is %T: %v", err, err)
			}
			return
		}
		if r.state.New {
			if d := cmp.Diff(lease.NewState("boot"), r.state); d != "" {
				t.Fatal(d)
			}
			return
		}
		// As if something had changed: the text itself is not to be had back.
		r.data = nil
		one, err := r.encodeState("boot")
		if err != nil {
			t.Fatal(err)
		}
		if one == nil {
			return // foreign fields, and nothing changed
		}
		again, err := decodeState(one, "boot")
		if err != nil {
			t.Fatalf("%v in\n%s", err, one)
		}
		if a, b := plain(t, r.state), plain(t, again.state); a != b {
			t.Fatal(cmp.Diff(a, b))
		}
		again.data = one
		two, err := again.encodeState("boot")
		if err != nil {
			t.Fatal(err)
		}
		if again.foreign == nil { // the order of fields is that of State again
			one, two = compact(t, one), compact(t, two)
		}
		if d := cmp.Diff(string(one), string(two)); d != "" {
			t.Fatal(d)
		}
		written, err := parseJSONTree(one)
		if err != nil {
			t.Fatal(err)
		}
		old, _ := r.foreign.(map[string]any)
		for key := range old {
			if _, ok := written.(map[string]any)[key]; !ok && !like(key, r.known.(map[string]any)) {
				t.Fatalf("field %q is lost in\n%s", key, one)
			}
		}
	})
}

// compact returns the same JSON with its fields in the order of their names.
func compact(t *testing.T, data []byte) []byte {
	t.Helper()
	v, err := parseJSONTree(data)
	if err != nil {
		t.Fatal(err)
	}
	if data, err = json.Marshal(v); err != nil {
		t.Fatal(err)
	}
	return data
}

// plain is the state alone as JSON.
func plain(t *testing.T, s lease.State) string {
	t.Helper()
	data, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestDecodeText: no text of a state may have what must not reach a terminal, wherever it
// stands: such a lease or request makes the file damaged, what was seen is forgotten, and
// neither is written.
func TestDecodeText(t *testing.T) {
	whole := func() lease.State {
		user := &usage.User{Name: "训练"}
		return lease.State{
			APIVersion: lease.APIVersion, Kind: lease.StateKind, Boot: "boot",
			Leases: []usage.Lease{{
				ID: "aaaaaaaaaaaa", GPUs: []gpu.BDF{{Bus: 1}}, Slices: []string{"x"}, Engine: "docker", Endpoint: "/run/docker.sock",
				Verb: usage.VerbRun, User: user, Container: "c", Started: "now",
			}},
			Queue: []lease.Ticket{{ID: "bbbbbbbbbbbb", Count: 1, User: user}},
			Seen: map[string]lease.Known{"key": {
				Facts:  usage.Facts{Name: "容器", Image: "i", Lease: "l", Slices: []string{"y"}},
				Engine: "podman", Endpoint: "/e",
			}},
			Processes: []usage.Process{{PID: 7, Command: "训练", Container: "c", GPUs: []gpu.BDF{{Bus: 1}}}},
		}
	}
	good, err := json.Marshal(whole())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := decodeState(good, "boot"); err != nil {
		t.Fatal(err)
	}
	// Each string of the file, but for those that are compared with one value.
	var spoil func(path string, at any, write func(any))
	tried := 0
	var text any
	for _, bad := range []string{"a\x1b[2J", "a\u009b31m", "a\u202eb", "a\nb"} {
		spoil = func(path string, at any, write func(any)) {
			try := func() {
				tried++
				data, err := json.Marshal(text)
				if err != nil {
					t.Fatal(err)
				}
				var damaged damage
				r, err := decodeState(data, "boot")
				switch {
				case strings.HasPrefix(path, ".seen"), strings.HasPrefix(path, ".processes[].co"):
					if err != nil || len(r.state.Seen)+len(r.state.Processes) != 1 || len(r.state.Leases) != 1 {
						t.Errorf("%s is %q: %+v, %v", path, bad, r.state, err)
					}
				case !errors.As(err, &damaged) || !terminal.Clean(err.Error()):
					t.Errorf("%s is %q: error is %v", path, bad, err)
				}
				var s lease.State
				if err := json.Unmarshal(data, &s); err == nil {
					if _, err := (record{state: s}).encodeState("boot"); err == nil {
						t.Errorf("%s is %q: it is written", path, bad)
					}
				}
			}
			switch v := at.(type) {
			case string:
				write(bad)
				try()
				write(v)
			case []any:
				for i := range v {
					spoil(path+"[]", v[i], func(x any) { v[i] = x })
				}
			case map[string]any:
				for key, old := range v {
					if slices.Contains([]string{"apiVersion", "kind", "boot"}, key) && path == "" {
						continue
					}
					if path == ".seen" {
						v[bad] = old
						delete(v, key)
						try()
						delete(v, bad)
						v[key] = old
					}
					spoil(path+"."+key, old, func(x any) { v[key] = x })
				}
			}
		}
		if err := json.Unmarshal(good, &text); err != nil {
			t.Fatal(err)
		}
		spoil("", text, func(any) {})
	}
	if tried < 4*20 {
		t.Errorf("only %d strings of a state were tried", tried)
	}
}
