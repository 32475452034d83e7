// SPDX-License-Identifier: Apache-2.0

package layout

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/topology"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]State{"1": Available, "1\n": Available, " 1 \nmore": Available, "0": Unavailable, "2": Unavailable, "-1": Unavailable} {
		if got, err := parseActive(text); got != want || err != nil {
			t.Errorf("active %q is %v, %v; want %v", text, got, err, want)
		}
	}
	for text, want := range map[string]struct {
		code int
		text string
	}{
		"": {}, "7\n": {7, ""}, "7\nfan failed\n": {7, "fan failed"}, "fan failed\n": {0, "fan failed"},
		"7\n" + strings.Repeat("é", 40): {7, strings.Repeat("é", 31)}, "7\n fan \nmore": {7, "fan"},
	} {
		if code, reason := parseReason(text); code != want.code || reason != want.text {
			t.Errorf("reason %q is %d, %q", text, code, reason)
		}
	}
	for text, want := range map[string]gpu.UUID{"": "", "\n": "", "e702f06b-bbd6\n": "GPU-e702f06b-bbd6", "GPU-1": "GPU-GPU-1"} {
		if got, err := parseUUID(text); got != want || err != nil {
			t.Errorf("unique_id %q is %q, %v; want %q", text, got, err, want)
		}
	}
	type link struct {
		to int
		row
		ok bool
	}
	for text, want := range map[string]link{
		"type 4\nto 3\n": {3, row{topology.MX, true}, true}, "version 1\ntype 105\nfrom 2\nto 65538\ndistance 9999\n": {2, row{topology.SYS, true}, true},
		"type 5\nto 3": {3, row{topology.Unknown, true}, true}, "type 3\nto 0": {0, row{}, true}, "type 6\nto 3": {3, row{}, true}, "type 4": {}, "to 4": {}, "type four\nto 3": {},
		"type 4\nto -3": {}, "type\nto": {}, "": {}, "type 0x4\nto 3": {},
	} {
		if to, r, ok := parseLink(text); (link{to, r, ok}) != want {
			t.Errorf("link %q is %d, %v, %v; want %v", text, to, r, ok, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"0000:0e:00.0\n", "e702f06b-bbd6\n", "1\n", "7\nfan failed\n", "type 4\nto 3\n", "type 101\nfrom 3\nto 65540\ndistance 1\n"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if b, err := parseLocation(text); err == nil && b == (gpu.BDF{}) {
			t.Errorf("location %q is a host bridge", text)
		}
		if u, err := parseUUID(text); err == nil && u != "" {
			if _, err := gpu.ParseUUID(string(u)); err != nil {
				t.Errorf("unique_id %q: %v", text, err)
			}
		}
		if s, err := parseActive(text); (err == nil) != (s != Unknown) {
			t.Errorf("active %q is %v, %v", text, s, err)
		}
		if _, reason := parseReason(text); len(reason) > maxReason || !utf8.ValidString(reason) || strings.Contains(reason, "\n") {
			t.Errorf("reason %q is %q", text, reason)
		}
		if to, link, ok := parseLink(text); to < 0 || to > 0xffff || !ok && (to != 0 || link != row{}) {
			t.Errorf("link %q leads to %d", text, to)
		}
	})
}
