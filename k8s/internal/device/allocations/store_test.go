// SPDX-License-Identifier: Apache-2.0

package allocations

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/test/testfile"
)

func TestStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "k8s", "allocations.json")
	store := Store{path, "boot-1"}
	if s, err := store.Load(); err != nil || len(s.Entries) != 0 {
		t.Fatalf("without a file: %v, %v", s, err)
	}
	want := entries("? a b", "p/main c")
	if err := store.Save(want); err != nil {
		t.Fatal(err)
	}
	got, err := store.Load()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if s, err := (Store{path, "boot-2"}).Load(); !errors.Is(err, ErrForeign) || len(s.Entries) != 0 {
		t.Errorf("another boot: %v, %v", s, err)
	}
	text := testfile.Read(t, path)
	for name, damaged := range map[string][]byte{
		"cut":             text[:len(text)/2],
		"a device less":   bytes.Replace(text, []byte(`"a",`), nil, 1),
		"another boot id": bytes.Replace(text, []byte("boot-1"), []byte("boot-2"), 1),
		"empty":           {},
		"a newer version": bytes.Replace(text, []byte("/v1"), []byte("/v2"), 1),
	} {
		testfile.Write(t, path, damaged, 0o600)
		if s, err := (Store{path, "boot-2"}).Load(); !errors.Is(err, ErrDamaged) || len(s.Entries) != 0 {
			t.Errorf("%s: %v, %v", name, s, err)
		}
		if err := store.Save(want); err != nil {
			t.Fatal(err)
		}
	}
}

// TestGrownStore: a record of a later version of the chart, after a rollback, may have more
// fields, and says the same.
func TestGrownStore(t *testing.T) {
	store := Store{filepath.Join(t.TempDir(), "allocations.json"), "boot-1"}
	want := entries("? a b", "p/main c")
	state, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	state = bytes.ReplaceAll(state, []byte(`{"`), []byte(`{"more":[1],"`))
	text := fmt.Sprintf(`{"apiVersion":%q,"more":{"a":1},"boot":"boot-1","state":%s,"sha256":%q}`, version, state, sum("boot-1", state))
	testfile.Write(t, store.Path, text, 0o600)
	got, err := store.Load()
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// FuzzDecode reads any bytes without a panic; what it accepts it writes again.
func FuzzDecode(f *testing.F) {
	good, err := encode(entries("? a b", "p/main c"), "boot")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte(`{"apiVersion":"metax-ctk/allocations/v1","state":null}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := decode(data, "boot")
		if err != nil {
			return
		}
		again, err := encode(s, "boot")
		if err != nil {
			t.Fatal(err)
		}
		if same, err := decode(again, "boot"); err != nil || !cmp.Equal(s, same) {
			t.Errorf("%v became %v, %v", s, same, err)
		}
	})
}
