// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"strings"
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

func TestSlicesValue(t *testing.T) {
	got := SlicesValue([]gpu.BDF{{Bus: 0x0e}, {Bus: 0x0f}}, []gpu.Slice{
		{Index: 0, ComputePercent: 10, MemoryMiB: 1024, Alias: "a"}, {Index: 3, ComputePercent: 20, MemoryMiB: 2048, Alias: "b"},
	})
	if want := "sgpu=0000:0e:00.0#0;compute=10;vram=1024;alias=a,sgpu=0000:0f:00.0#3;compute=20;vram=2048;alias=b"; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

func TestParseSliceFile(t *testing.T) {
	full := SliceFile{ID: "GPU-1-sgpu0", Compute: 10, MemoryMiB: 1024, Alias: "k8s-1"}
	for _, test := range []struct {
		text string
		want SliceFile
		err  string
	}{
		{full.String(), full, ""},
		{"id=GPU-1-sgpu0\n", SliceFile{ID: "GPU-1-sgpu0"}, ""},
		{"x=y;;id=a=b", SliceFile{ID: "a=b"}, ""},
		{"", SliceFile{}, "has no id"},
		{"compute=1", SliceFile{}, "has no id"},
		{"id=a;compute=all", SliceFile{}, `"compute=all"; want a number`},
		{strings.Repeat("x", MaxSliceFile+1), SliceFile{}, "4097 bytes"},
	} {
		got, err := ParseSliceFile(test.text)
		if got != test.want || (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("%.80q: %v, %v; want %v, %s", test.text, got, err, test.want, test.err)
		}
	}
}

func FuzzSliceFile(f *testing.F) {
	f.Add("id=GPU-1-sgpu0;compute=10;vram=1024;alias=k8s-1")
	f.Add("id=;vram=\x1b")
	f.Fuzz(func(t *testing.T, text string) {
		file, err := ParseSliceFile(text)
		if err != nil {
			if len(err.Error()) > 1000 || strings.ContainsAny(err.Error(), "\n\x1b") {
				t.Errorf("error %q", err)
			}
			return
		}
		if again, err := ParseSliceFile(file.String()); err != nil || again != file {
			t.Errorf("%q gives %v, and that %v, %v", text, file, again, err)
		}
	})
}
