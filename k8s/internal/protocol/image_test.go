// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"strings"
	"testing"
)

const digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func TestParseImage(t *testing.T) {
	for text, want := range map[string]Image{
		"ghcr.io/metax-ctk/gpu-device:0.1.0":   {"ghcr.io/metax-ctk", "gpu-device", "0.1.0"},
		"127.0.0.1:5000/p/gpu-label@" + digest: {"127.0.0.1:5000/p", "gpu-label", digest},
		"hub/exporter:v1":                      {"hub", "exporter", "v1"},
		"gpu-device:1":                         {},
		"hub/gpu-device":                       {},
		"hub/gpu-device@sha256:12":             {},
		"hub/gpu device:1":                     {},
		"hub/GPU:1":                            {},
		"hub/a:" + strings.Repeat("x", 129):    {},
		"hub/a:1@" + digest:                    {},
		"driver-manager":                       {},
		"":                                     {},
	} {
		got, err := ParseImage(text)
		if got != want || (err == nil) != (want != Image{}) {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}

func TestIsVendorImage(t *testing.T) {
	for text, want := range map[string]bool{
		"cr.metax-tech.com/cloud/gpu-device:0.9.2": true, "cr.metax-tech.com:443/gpu-device:1": true, "driver-manager": true,
		"hub.example.com/metax-tech.com/gpu-device:1": false, "notmetax-tech.com/a:1": false, "ghcr.io/metax-ctk/gpu-device:0.1.0": false,
	} {
		if IsVendorImage(text) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
}

func FuzzParseImage(f *testing.F) {
	f.Add("ghcr.io/metax-ctk/gpu-device:0.1.0")
	f.Add("a/b@" + digest)
	f.Fuzz(func(t *testing.T, text string) {
		i, err := ParseImage(text)
		if err != nil {
			return
		}
		separator := ":"
		if strings.HasPrefix(i.Version, "sha256:") {
			separator = "@"
		}
		if again := i.Registry + "/" + i.Name + separator + i.Version; again != text {
			t.Errorf("%q became %q", text, again)
		}
	})
}
