// SPDX-License-Identifier: Apache-2.0

package hosttree_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/hostfs/hosttree"
)

func TestParse(t *testing.T) {
	got, err := hosttree.Parse([]byte(`A comment, not kept.
-- etc/os-release --
ID=debian
-- opt/mxdriver/bin/mx-smi (0755) --
#!/bin/sh
-- opt/lib.so (base64) --
f0VM
RgA=
-- opt/run (0755 base64) --
AA==
-- etc/open (0600 open) --
last
-- etc/other (crlf open) --
a
b
-- empty (0644) --
-- run/lock/ (0700) --
-- run/open/ --
-- sys/class/drm/card1 -> ../../devices/x --
-- opt/maca -> /opt/maca-3.3.0.15 --
-- dev/mxcd (c 511:0 0666) --
-- dev/dri/renderD128 (c 226:128 0660 0:44) --
`))
	if err != nil {
		t.Fatal(err)
	}
	want := hosttree.Tree{
		"etc/os-release":          hosttree.File{Data: "ID=debian\n"},
		"opt/mxdriver/bin/mx-smi": hosttree.File{Data: "#!/bin/sh\n", Perm: 0o755},
		"opt/lib.so":              hosttree.File{Data: "\x7fELF\x00"},
		"opt/run":                 hosttree.File{Data: "\x00", Perm: 0o755},
		"etc/open":                hosttree.File{Data: "last", Perm: 0o600},
		"etc/other":               hosttree.File{Data: "a\r\nb"},
		"empty":                   hosttree.File{},
		"run/lock":                hosttree.Dir{Perm: 0o700},
		"run/open":                hosttree.Dir{},
		"sys/class/drm/card1":     hosttree.Link("../../devices/x"),
		"opt/maca":                hosttree.Link("/opt/maca-3.3.0.15"),
		"dev/mxcd":                hosttree.Device{Major: 511, Perm: 0o666},
		"dev/dri/renderD128":      hosttree.Device{Major: 226, Minor: 128, Perm: 0o660, GID: 44},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Parse (-want +got):\n%s", diff)
	}
	again, err := hosttree.Parse(got.Format())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(got, again); diff != "" {
		t.Errorf("Parse(Format()) (-want +got):\n%s", diff)
	}
}

func TestParseErrors(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"-- /etc/passwd --\n", "absolute"},
		{"-- ../etc/passwd --\n", "leads out"},
		{"-- a/../../b --\n", "leads out"},
		{"-- .. --\n", "leads out"},
		{"-- . --\n", "not plain"},
		{"-- a/./b --\n", "not plain; want a/b"},
		{"-- a//b --\n", "not plain"},
		{"-- a/ -> b --\n", "not plain"},
		{"-- / --\n", "empty"},
		{"-- a\tb --\n", "control"},
		{"-- a b --\n", "one pair of brackets"},
		{"-- a (0755 --\n", "one pair of brackets"},
		{"-- a () --\n", "one pair of brackets"},
		{"-- a (755) --\n", "four octal digits"},
		{"-- a (0888) --\n", "four octal digits"},
		{"-- a (4755) --\n", "four octal digits"},
		{"-- a (0000) --\n", "not supported"},
		{"-- a (0644 gzip) --\n", "want (MODE)"},
		{"-- a (base64) --\n???\n", "illegal base64"},
		{"-- a (open) --\n", "(open) needs a last line"},
		{"-- a (open crlf) --\nx\n", "want (MODE)"},
		{"-- a (crlf base64) --\nAAAA\n", "want (MODE)"},
		{"-- a/ --\nbody\n", "no body"},
		{"-- a -> b --\nbody\n", "no body"},
		{"-- a -> b c --\n", "link target"},
		{"-- a (c 1:3 0666) --\nbody\n", "no body"},
		{"-- a/ (c 1:3 0666) --\n", "no slash"},
		{"-- a (c 1:3) --\n", "a device is"},
		{"-- a (c 1 0666) --\n", "two decimal numbers"},
		{"-- a (c -1:3 0666) --\n", "two decimal numbers"},
		{"-- a (c 1:3 0666 root:video) --\n", "two decimal numbers"},
		{"-- a (c 4096:3 0666) --\n", "beyond 4095:"},
		{"-- a --\n-- a -> b --\n", "twice"},
		{"-- a --\n-- a/b --\n", `below "a"`},
		{"-- a -> /etc --\n-- a/b/passwd --\n", `below "a"`},
		{"-- a (c 1:3 0666) --\n-- a/b --\n", `below "a"`},
	} {
		_, err := hosttree.Parse([]byte(tt.text))
		if !errors.Is(err, hosttree.ErrTree) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Parse(%q) = %v; want ErrTree with %q", tt.text, err, tt.want)
		}
	}
}

// TestFormatText has contents that txtar alone would change.
func TestFormatText(t *testing.T) {
	unreadable := []string{"x\n-- a --", "-- a --\n", "x\n-- a --\n", "\r\nx\n", "a\r\r\n", "\r", "\xff\n", "\ufffd\n", "\x00"}
	for _, data := range []string{
		"", "\n", "\n\n", "no end", "two\nlines", "x\n-- a --", "a\r\nb", "\r\n", "\r\n\r\n", "\r\nx\n", "a\r\r\n", "\r", "\ufeff{}", "-- a --\n", "x\n-- a --\n", "--  --\n", "a\r\n", "\xff\n", "\ufffd\n", "\x00", "沐曦\n",
		strings.Repeat("long", 100),
	} {
		want := hosttree.Tree{"f": hosttree.File{Data: data}, "g": hosttree.File{Data: "after\n"}}
		got, err := hosttree.Parse(want.Format())
		if err != nil {
			t.Errorf("%q: %v", data, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", data, diff)
		}
		if inBase64 := strings.Contains(string(want.Format()), "base64"); inBase64 != slices.Contains(unreadable, data) {
			t.Errorf("%q is written as %s", data, want.Format())
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("-- a (0755) --\nx\n-- b/ --\n-- c -> ../a --\n-- dev/d (c 226:128 0660 0:44) --\n"))
	f.Add([]byte("c\n-- a (base64) --\nAAAA\n-- /a --\n-- ../a --\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		tree, err := hosttree.Parse(text)
		if err != nil {
			return
		}
		for p := range tree {
			if p[0] == '/' || strings.Contains("/"+p+"/", "/../") {
				t.Errorf("path %q was accepted", p)
			}
		}
		again, err := hosttree.Parse(tree.Format())
		if err != nil {
			t.Fatalf("Parse(Format()): %v", err)
		}
		if diff := cmp.Diff(tree, again); diff != "" {
			t.Errorf("Parse(Format()) (-want +got):\n%s", diff)
		}
	})
}
