// SPDX-License-Identifier: Apache-2.0

package gpu_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

func TestParseUUID(t *testing.T) {
	for _, text := range []string{
		"GPU-3fd4ee8f-169c-6d31-f9dc-c2a90a441f1b",
		"GPU-3fd4ee8f-169c-6d31-f9dc-c2a90a441f1b-DIE1",
		"GPU-abc-123", "GPU-xxx", "GPU-0", "GPU-A",
		"GPU-" + strings.Repeat("a", 92),
	} {
		if got, err := gpu.ParseUUID(text); err != nil || string(got) != text {
			t.Errorf("%q gives %q, %v", text, got, err)
		}
	}
	for _, text := range []string{
		"", "GPU", "GPU-", "GPU--", "GPU-a-", "gpu-a", "MX-a", "3fd4ee8f-169c-6d31-f9dc-c2a90a441f1b",
		" GPU-a", "GPU-a ", "GPU-a b", "GPU-a\n", "GPU-a\nGPU-b", "GPU-\x1b[2J", "GPU-a\x00", "GPU-a\x7f",
		"GPU-a/b", "GPU-..", "GPU-a=b", "GPU-a,b", "GPU-a:b", "GPU-ä", "GPU-" + strings.Repeat("a", 93),
	} {
		if got, err := gpu.ParseUUID(text); !errors.Is(err, gpu.ErrUUID) || got != "" {
			t.Errorf("%q gives %q, %v; want ErrUUID", text, got, err)
		}
	}
}

func TestUUIDEqual(t *testing.T) {
	u := gpu.UUID("GPU-3FD4ee8f")
	if !u.Equal("gpu-3fd4EE8F") || u.Equal("GPU-3fd4ee8") || u.Equal("") || gpu.UUID("").Equal("") {
		t.Error("UUIDs are equal but for case, and the unknown one equals none")
	}
}

func TestUUIDUnmarshalText(t *testing.T) {
	u := gpu.UUID("GPU-before")
	if err := u.UnmarshalText(nil); err != nil || u != "" {
		t.Errorf("the empty text gives %q, %v", u, err)
	}
	if err := u.UnmarshalText([]byte("GPU-a")); err != nil || u != "GPU-a" {
		t.Errorf("got %q, %v", u, err)
	}
	if err := u.UnmarshalText([]byte("GPU-a b")); !errors.Is(err, gpu.ErrUUID) {
		t.Errorf("error is %v, want ErrUUID", err)
	}
}

func TestHasDevice(t *testing.T) {
	for id, want := range map[string]bool{
		"GPU-a": true, "GPU-a-vf0": true, "GPU-a::3": true,
		"GPU-ab": false, "GPU-a-DIE1": false, "GPU": false, "": false, "gpu-a": false,
	} {
		if got := gpu.UUID("GPU-a").HasDevice(id); got != want {
			t.Errorf("%q: %v, want %v", id, got, want)
		}
	}
	if gpu.UUID("").HasDevice("::1") {
		t.Error("a GPU without a UUID has a device")
	}
}

func TestValidSerial(t *testing.T) {
	for text, want := range map[string]bool{
		"0123456789": true, "SN-1_2.3/4:5+6": true, "a": true, strings.Repeat("a", 96): true,
		"": false, "a b": false, "a,b": false, "[a]": false, "a\n": false, "a\x1b": false, "ä": false, strings.Repeat("a", 97): false,
	} {
		if got := gpu.ValidSerial(text); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

func FuzzParseUUID(f *testing.F) {
	f.Add("GPU-3fd4ee8f-169c-6d31-f9dc-c2a90a441f1b-DIE1")
	f.Add("GPU-a\nb")
	f.Fuzz(func(t *testing.T, text string) {
		u, err := gpu.ParseUUID(text)
		if err != nil {
			return
		}
		const plain = "-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
		if string(u) != text || strings.Trim(text, plain) != "" || !strings.HasPrefix(text, "GPU-") || strings.HasSuffix(text, "-") {
			t.Errorf("%q passes as %q", text, u)
		}
	})
}
