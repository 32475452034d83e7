// SPDX-License-Identifier: Apache-2.0

package mount

import (
	"testing"
)

// TestStartTime: the name of a process may look like the fields after it.
func TestStartTime(t *testing.T) {
	const after = " S 1 1 1 0 -1 4194560 1 0 0 0 1 2 3 4 20 0 1 0 %s 1 2 3\n"
	const rest = " S 1 1 1 0 -1 4194560 1 0 0 0 1 2 3 4 20 0 1 0 777 1 2 3\n"
	for _, stat := range []string{
		"12 (sh)" + rest, "12 (a b)" + rest, "12 () S 1 1 1)" + rest, "12 (x) R 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 1 (y)" + rest,
	} {
		if got, err := startTime([]byte(stat)); err != nil || got != 777 {
			t.Errorf("%q: %d, %v", stat, got, err)
		}
	}
	for _, stat := range []string{"", "12 (sh", "12 (sh) S 1 1", "12 (sh)" + after} {
		if got, err := startTime([]byte(stat)); err == nil {
			t.Errorf("%q: %d", stat, got)
		}
	}
}

func TestIDs(t *testing.T) {
	m, err := ParseIDs([]byte("         0     100000      1000\n 1000 1000 1\n1001 101001 64535\n"))
	if err != nil {
		t.Fatal(err)
	}
	for inside, outside := range map[uint32]uint32{0: 100000, 999: 100999, 1000: 1000, 1001: 101001, 65535: 165535} {
		if got, ok := m.Host(inside); !ok || got != outside {
			t.Errorf("%d inside is %d, %t; want %d", inside, got, ok, outside)
		}
		if got, ok := m.Container(outside); !ok || got != inside {
			t.Errorf("%d outside is %d, %t; want %d", outside, got, ok, inside)
		}
	}
	if got, ok := m.Host(65536); ok {
		t.Errorf("65536 inside is %d", got)
	}
	if got, ok := m.Container(44); ok {
		t.Errorf("44 outside is %d", got)
	}
	if !m.Foreign() {
		t.Error("these ids are the host's")
	}
	if whole, err := ParseIDs([]byte("0 0 4294967295\n")); err != nil || whole.Foreign() {
		t.Errorf("the whole range: %v, %v", whole, err)
	}
	if _, err := ParseIDs([]byte("0 x 1\n")); err == nil {
		t.Error("a word is an id")
	}
}
