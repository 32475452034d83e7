// SPDX-License-Identifier: Apache-2.0

package request

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const uuid = "GPU-3fd4ee8f-169c-6d31-f9dc-c2a90a441f1b"

// slice has the assumed form of a slice's UUID; no real one is published.
const slice = "SGPU-5b0c9a3e-7a8b-11ee-b962-0242ac120002"

func ids(ids ...string) Request { return Request{IDs: ids} }

func parts(ids ...string) Request { return Request{Slices: ids} }

func TestParse(t *testing.T) {
	tests := []struct {
		in   string
		want Request
	}{
		{"all", Request{All: true}},
		{" all ", Request{All: true}},
		{"count=all", Request{All: true}},
		{"device=all", Request{All: true}},
		{"metax-tech.com/gpu=all", Request{All: true}},
		{"all,capabilities=utility", Request{All: true}},

		{"1", Request{Count: 1}},
		{"4", Request{Count: 4}},
		{"99999", Request{Count: 99999}},
		{"count=2", Request{Count: 2}},
		{"2,driver=metax", Request{Count: 2}},
		{"driver=metax-tech.com,count=2", Request{Count: 2}},
		{"driver=cdi", Request{Count: 1}},
		{"capabilities=gpu", Request{Count: 1}},
		{`"capabilities=compute,utility",count=3`, Request{Count: 3}},
		{"capabilities=compute,utility,count=3", Request{Count: 3}},
		{"capabilities=compute,utility,3", Request{Count: 3}},
		{"count=2,options=,driver=", Request{Count: 2}},

		{"0,2", ids("0", "2")},
		{"0, 2", ids("0", "2")},
		{"2,0", ids("2", "0")},
		{"[2]", ids("2")},
		{"[0,2]", ids("0", "2")},
		{"[ 0 , 2 ]", ids("0", "2")},
		{"[1e9]", ids("1e9")},
		{"0-3", ids("0-3")},
		{"[0-1,6, 4-4]", ids("0-1", "6", "4-4")},
		{`"device=0-2"`, ids("0-2")},
		{"SN0-3", ids("SN0-3")},
		{"12345-1", ids("12345-1")},
		{"1-12345", ids("1-12345")},
		{"0-3-5", ids("0-3-5")},
		{"0-", ids("0-")},
		{"0-1_0", ids("0-1_0")},
		{"device=2", ids("2")},
		{"device=0,2", ids("0", "2")},
		{`"device=0,2"`, ids("0", "2")},
		{`"device=0,2",capabilities=utility`, ids("0", "2")},
		{"device=0,2,capabilities=gpu,utility", ids("0", "2")},
		{"capabilities=gpu,device=0,2", ids("0", "2")},
		{`"device=0,2",3`, ids("0", "2", "3")},
		{uuid, ids(uuid)},
		{"GPU-3fd4ee8f…", ids("GPU-3fd4ee8f")}, // pasted from a table that cuts it
		{"[GPU-3fd4ee8f...,1]", ids("GPU-3fd4ee8f", "1")},
		{"[" + uuid + ",GPU-1]", ids(uuid, "GPU-1")},
		{`"device=` + uuid + `"`, ids(uuid)},
		{"0000:0e:00.0", ids("0000:0e:00.0")},
		{"0E:00.0,0f:00.0", ids("0E:00.0", "0f:00.0")},
		{"SN0042A", ids("SN0042A")},
		{"[SN1,SN2]", ids("SN1", "SN2")},
		{"metax-tech.com/gpu=0", ids("0")},
		{"metax-tech.com/gpu=0,metax-tech.com/gpu=" + uuid, ids("0", uuid)},
		{"[metax-tech.com/gpu=3]", ids("3")},
		{"driver=cdi,device=metax-tech.com/gpu=0", ids("0")},
		{`driver=cdi,"device=metax-tech.com/gpu=0,metax-tech.com/gpu=1"`, ids("0", "1")},
		{"driver=cdi,device=metax-tech.com/gpu=0,metax-tech.com/gpu=1", ids("0", "1")},

		{"sgpu:" + slice, parts(slice)},
		{"SGPU:1", parts("1")},
		{"[<sgpu:" + slice + ">]", parts(slice)},
		{"[<sgpu:" + slice + ">, <sgpu:b>]", parts(slice, "b")},
		{"[sgpu:b,sgpu:a]", parts("b", "a")},
		{"sgpu:b, sgpu:a", parts("b", "a")},
		{"[sgpu:all]", parts("all")},
		{"sgpu:0000:0e:00.1", parts("0000:0e:00.1")},
		{"[sgpu:0E:00.1]", parts("0E:00.1")},
		{"metax-tech.com/sgpu=" + slice, parts(slice)},
		{"[metax-tech.com/sgpu=0000:0e:00.1,sgpu:a]", parts("0000:0e:00.1", "a")},
		{"device=sgpu:a,sgpu:b", parts("a", "b")},
		{`"device=sgpu:a,metax-tech.com/sgpu=b",capabilities=utility`, parts("a", "b")},
		{"driver=cdi,device=metax-tech.com/sgpu=a", parts("a")},
	}
	for _, tt := range tests {
		t.Run(tt.in, func(t *testing.T) {
			got, err := Parse(tt.in)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("Parse(%q) (-want +got):\n%s", tt.in, d)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	tests := []struct {
		in   string
		want string // what the message says between the value and the hint
		is   error
	}{
		{in: "", want: "empty"},
		{in: "  ", want: "empty"},
		{in: "0", want: "at least 1"},
		{in: "count=0", want: "at least 1"},
		{in: "-1", want: "at least 1"},
		{in: "1e9", want: `"1e9" is not a whole number`},
		{in: "1.5", want: `"1.5" is not a whole number`},
		{in: "count=1e9", want: `"1e9" is not a whole number`},
		{in: "count=", want: `"" is not a whole number`},
		{in: "99999999999999999999", want: "too large"},
		{in: "0070012345", want: "too large"},
		{in: "[]", want: "empty name"},
		{in: "[0,]", want: "empty name"},
		{in: "0,,1", want: "empty name"},
		{in: ",", want: "empty name"},
		{in: "device=", want: "empty name"},
		{in: "[0", want: "the closing ] is missing"},
		{in: "0]", want: `"0]" cannot be`},
		{in: "[[0]]", want: `"[0]" cannot be`},
		{in: "[-1]", want: `"-1" cannot be`},
		{in: "0 2", want: `"0 2" cannot be`},
		{in: "0,0", want: `"0" is given twice`},
		{in: "0-3,2", want: `"2" is given twice`},
		{in: "3-0", want: "the range 3-0 does not go up"},
		{in: "[0-9999]", want: "an index above 4095"},
		{in: strings.Repeat("0-4095,", 5), want: `"0" is given twice`},
		{in: "device=1,1", want: `"1" is given twice`},
		{in: "1,metax-tech.com/gpu=1", want: `"1" is given twice`},
		{in: "all,0", want: "part of a list"},
		{in: "[all]", want: "part of a list"},
		{in: "device=0,all", want: "part of a list"},
		{in: "[metax-tech.com/gpu=all,0]", want: "part of a list"},
		{in: "count=2,device=0", want: "together"},
		{in: "2,device=0", want: "together"},
		{in: "device=0,driver=metax,2", want: "together"},
		{in: "count=2,2", want: "together"},
		{in: "count=1,count=2", want: "twice"},
		{in: "device=1,device=2", want: "twice"},
		{in: "options=a=b", want: "options"},
		{in: "foo=1", want: `unknown key "foo"`},
		{in: "nvidia.com/gpu=0", want: "neither metax-tech.com/gpu nor metax-tech.com/sgpu"},
		{in: "metax-tech.com/maca=host", want: "neither metax-tech.com/gpu nor metax-tech.com/sgpu"},
		{in: `"device=0`, want: "quote"},
		{in: `device="0"`, want: "quote"},
		{in: "driver=nvidia,count=1", want: `driver "nvidia"`, is: ErrDriver},
		{in: "driver=amd", want: `driver "amd"`, is: ErrDriver},
		{in: "[sgpu:]", want: `"" cannot be the UUID`},
		{in: "[<sgpu:a]", want: `"<sgpu:a" cannot be`},
		{in: "[sgpu:a>]", want: `"a>" cannot be the UUID`},
		{in: "sgpu:sgpu:a", want: `"sgpu:a" cannot be the UUID`},
		{in: "[sgpu:-a]", want: `"-a" cannot be the UUID`},
		{in: "[sgpu:a_b]", want: `"a_b" cannot be the UUID`},
		{in: "sgpu:" + strings.Repeat("a", 94), want: "cannot be the UUID"},
		{in: "sgpu:0000:0e:00.9", want: "cannot be the UUID or PCI address"},
		{in: "[sgpu:a,,sgpu:b]", want: "empty name"},
		{in: "[sgpu:a,sgpu:a]", want: `slice "a" is given twice`},
		{in: "sgpu:a,metax-tech.com/sgpu=a", want: `slice "a" is given twice`},
		{in: "[sgpu:a,0]", want: "together", is: ErrMixed},
		{in: "[0,<sgpu:a>]", want: "together", is: ErrMixed},
		{in: "metax-tech.com/gpu=0,metax-tech.com/sgpu=a", want: "together", is: ErrMixed},
		{in: "[all,sgpu:a]", want: "part of a list"},
		{in: "all,sgpu:a", want: "part of a list"},
		{in: "count=2,sgpu:a", want: "together"},
		{in: "2,device=sgpu:a", want: "together"},
		{in: "0\n1", want: "unprintable character"},
		{in: "0\x1b[31m", want: "unprintable character"},
		{in: "GPU\u202e", want: "unprintable character"},
		{in: "\xff", want: "unprintable character"},
		{in: strings.Repeat("0,", maxLen), want: "longer than"},
		{in: strings.Repeat("a", 200), want: "cannot be"},
	}
	for _, tt := range tests {
		t.Run(tt.in[:min(len(tt.in), 40)], func(t *testing.T) {
			got, err := Parse(tt.in)
			var e *ValueError
			if !errors.As(err, &e) {
				t.Fatalf("Parse(%q) = %v, %v; want a ValueError", tt.in, got, err)
			}
			if d := cmp.Diff(Request{}, got); d != "" {
				t.Errorf("a refused value leaves something (-want +got):\n%s", d)
			}
			if !strings.Contains(e.Err.Error(), tt.want) {
				t.Errorf("says %q, want something with %q", e.Err, tt.want)
			}
			if tt.is != nil && !errors.Is(err, tt.is) {
				t.Errorf("%v is not %v", err, tt.is)
			}
			if e.Value != tt.in || e.Hint == "" {
				t.Errorf("value %q, hint %q", e.Value, e.Hint)
			}
			if msg := err.Error(); strings.ContainsAny(msg, "\n\x1b") || len(msg) > 600 {
				t.Errorf("message of %d bytes is not one short line: %q", len(msg), msg)
			}
		})
	}
}

func TestValueErrorMessage(t *testing.T) {
	_, err := Parse("0")
	want := `invalid value "0": the number of GPUs is at least 1; ` +
		`write all, or a number from 1 on; in brackets, as in [0], it names a GPU`
	if d := cmp.Diff(want, err.Error()); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	if _, err = Parse(strings.Repeat("0,", 40)); !strings.Contains(err.Error(), `,": `) {
		t.Errorf("a value of 80 bytes is cut: %v", err)
	}
}

func TestString(t *testing.T) {
	tests := []struct {
		r    Request
		want string
	}{
		{Request{All: true}, "all"},
		{Request{Count: 4}, "4"},
		{ids("2"), "[2]"},
		{ids("0", uuid), "[0," + uuid + "]"},
		{parts(slice), "[sgpu:" + slice + "]"},
		{parts("a", "0000:0e:00.1"), "[sgpu:a,sgpu:0000:0e:00.1]"},
	}
	for _, tt := range tests {
		if got := tt.r.String(); got != tt.want {
			t.Errorf("%#v.String() = %q, want %q", tt.r, got, tt.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"all", "2", "0,2", "[0,2]", uuid, "0000:0e:00.0", `"device=0,2",capabilities=utility`,
		"count=all", "0-3", "metax-tech.com/gpu=0-3", "[4-2,9]", "driver=cdi,device=metax-tech.com/gpu=0", "[<sgpu:GPU-1>]", "[sgpu:a,0]", "device=sgpu:0e:00.1,metax-tech.com/sgpu=a", "1e9", "-1", `""`, "[", "=",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := Parse(s)
		if err != nil {
			var e *ValueError
			if !errors.As(err, &e) || e.Hint == "" || strings.ContainsAny(err.Error(), "\n\x1b\x00") {
				t.Fatalf("Parse(%q): %q", s, err)
			}
			return
		}
		forms := 0
		for _, set := range []bool{r.All, r.Count > 0, len(r.IDs) > 0, len(r.Slices) > 0} {
			if set {
				forms++
			}
		}
		if forms != 1 || r.Count < 0 {
			t.Fatalf("Parse(%q) = %#v: want exactly one form", s, r)
		}
		again, err := Parse(r.String())
		if d := cmp.Diff(r, again); err != nil || d != "" {
			t.Fatalf("Parse(%q) = %v, written %q, read back: %v\n%s", s, r, r.String(), err, d)
		}
	})
}
