// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParseState(t *testing.T) {
	for text, want := range map[string]State{
		`{"ociVersion":"1.0.2","id":"c","pid":0,"status":"created","bundle":"/run/b"}`: {ID: "c", Status: "created", Bundle: "/run/b"},
		"{\n\t\"bundle\": \"/run//b/.\",\n\t\"pid\": 7, \"annotations\": null}\n":      {Pid: 7, Bundle: "/run/b"},
	} {
		got, err := ParseState([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if diff := cmp.Diff(&want, got); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
	for _, text := range []string{"", "{}", "null", "[]", `{"bundle":""}`, `{"bundle":"b"}`, `{"bundle":"/a/../b"}`, `{"bundle":"/a\nb"}`, `{"bundle":7}`, `{"bundle":"/b"}{}`} {
		if got, err := ParseState([]byte(text)); err == nil {
			t.Errorf("%s is %+v", text, got)
		}
	}
}

func FuzzParseState(f *testing.F) {
	f.Add([]byte(`{"id":"c","pid":1,"bundle":"/run/b"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := ParseState(text)
		if err == nil && (!filepath.IsAbs(s.Bundle) || filepath.Clean(s.Bundle) != s.Bundle) {
			t.Errorf("bundle %q", s.Bundle)
		}
	})
}

func TestReadInput(t *testing.T) {
	if data, err := ReadInput(strings.NewReader("12345"), 5, time.Minute); err != nil || string(data) != "12345" {
		t.Errorf("%q, %v", data, err)
	}
	if data, err := ReadInput(strings.NewReader("12345"), 4, time.Minute); !errors.Is(err, ErrTooLarge) {
		t.Errorf("%q, %v; want ErrTooLarge", data, err)
	}
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		began := time.Now()
		data, err := ReadInput(r, 4, ReadTimeout)
		if !errors.Is(err, ErrNoEnd) || time.Since(began) != ReadTimeout {
			t.Errorf("%q, %v after %v; want ErrNoEnd", data, err, time.Since(began))
		}
		w.Close()
	})
}
