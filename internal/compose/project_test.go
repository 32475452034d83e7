// SPDX-License-Identifier: Apache-2.0

package compose

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/edits"

	"github.com/metax-ctk/container-toolkit/internal/request"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

// shop is a project as docker compose 2.40 prints it, with all profiles.
func shop(t *testing.T) *Project {
	t.Helper()
	text := testfile.Text(t, filepath.Join("testdata", "project.json"))
	return read(t, text)
}

func read(t *testing.T, text string) *Project {
	t.Helper()
	p, err := Read([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// services reads a project of these services in JSON.
func services(t *testing.T, text string) *Project {
	t.Helper()
	return read(t, `{"name": "p", "services": {`+text+`}}`)
}

func write(t *testing.T, p *Project) string {
	t.Helper()
	text, err := p.JSON()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// What is not ours stays as it was, to the last digit.
func TestRoundTrip(t *testing.T) {
	decode := func(text string) (value any) {
		dec := json.NewDecoder(strings.NewReader(text))
		dec.UseNumber()
		if err := dec.Decode(&value); err != nil {
			t.Fatal(err)
		}
		return value
	}
	before := testfile.Text(t, filepath.Join("testdata", "project.json"))
	if d := cmp.Diff(decode(before), decode(write(t, shop(t)))); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	text := `{"name": "p", "services": {"a": {"n": 12345678901234567890, "f": 0.10, "c": "<&>", "x": null}}, "y": [1e3]}`
	got := strings.Join(strings.Fields(write(t, read(t, text))), " ")
	want := `{ "name": "p", "services": { "a": { "c": "<&>", "f": 0.10, "n": 12345678901234567890, "x": null } }, "y": [ 1e3 ] }`
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

func TestReadRefuses(t *testing.T) {
	for text, want := range map[string]string{
		``:                                     "EOF",
		`{}`:                                   "no name",
		`{"name": ""}`:                         "no name",
		`[]`:                                   "cannot unmarshal",
		`{"name": "p"} {}`:                     "something follows",
		`{"name": "p", "services": []}`:        "services must be an object",
		`{"name": "p", "services": {"a": []}}`: `service "a" must be an object`,
	} {
		if p, err := Read([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Read(%q) = %v, %v; want an error with %q", text, p, err, want)
		}
	}
	if p, err := Read([]byte(`{"name": "p", "services": null}`)); err != nil || len(p.Services()) != 0 {
		t.Errorf("a project without services: %v, %v", p, err)
	}
}

func TestRequests(t *testing.T) {
	got, err := shop(t).Requests()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]Request{
		"train":  {Request: request.Request{Count: 2}, Policy: "binpack", Scope: "link", Sizes: "off"},
		"serve":  {Request: request.Request{All: true}},
		"built":  {Request: request.Request{IDs: []string{"0", "1"}}},
		"cdi":    {Request: request.Request{IDs: []string{"3"}}},
		"shares": {Request: request.Request{Count: 1}, Share: true},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

func TestRequestForms(t *testing.T) {
	const nobody = "nobody's"
	tests := []struct{ gpus, want string }{
		{`[{"count": -1}]`, "all"},
		{`[{"count": "all"}]`, "all"},
		{`[{"count": 3, "driver": "metax-tech.com"}]`, "3"},
		{`[{"device_ids": ["all"]}]`, "all"},
		{`[{"device_ids": ["metax-tech.com/gpu=all"]}]`, "all"},
		{`[{"device_ids": ["0000:0e:00.0"]}]`, "[0000:0e:00.0]"},
		{`[{"driver": "nvidia", "count": -1}]`, nobody},
		{`[{"device_ids": ["amd.com/gpu=0"]}]`, nobody},
		{`[{"driver": "cdi", "device_ids": ["0"]}]`, nobody},
		{`[{"driver": "cdi", "device_ids": ["metax-tech.com/gpu=0", "amd.com/gpu=0"]}]`, errMixed.Error()},
		{`[{"count": 1}, {"count": 2}]`, "2 GPU requests"},
		{`[{}]`, "at least 1"}, // compose leaves a count of 0 out
		{`[{"count": -2}]`, "at least 1"},
		{`[{"count": 1, "options": {"share": "maybe"}}]`, "true or false"},
		{`[{"device_ids": ["sgpu:1"]}]`, "[sgpu:1]"},
	}
	for _, tt := range tests {
		requests, err := services(t, `"a": {"gpus": `+tt.gpus+`}`).Requests()
		got := nobody
		if r, ok := requests["a"]; ok {
			got = r.String()
		}
		if err != nil {
			got = err.Error()
		}
		if got != tt.want && (err == nil || !strings.Contains(got, tt.want) || !strings.Contains(got, `service "a"`)) {
			t.Errorf("gpus: %s: %s, want %s", tt.gpus, got, tt.want)
		}
	}
}

// TestDevices reads requests under devices, in both forms that compose prints.
func TestDevices(t *testing.T) {
	const gpu, slice, fuse = `"metax-tech.com/gpu=0:metax-tech.com/gpu=0:rwm"`, `{"source": "metax-tech.com/sgpu=1", "target": "metax-tech.com/sgpu=1"}`, `{"source": "/dev/fuse", "target": "/dev/fuse"}`
	for devices, want := range map[string]struct {
		request, left string
	}{
		"[" + gpu + "]":                {"[0]", ""},
		"[" + slice + "," + fuse + "]": {"[sgpu:1]", `[map[source:/dev/fuse target:/dev/fuse]]`},
		"[" + fuse + `, "nvidia.com/gpu=0", "metax-tech.com/maca=host"]`: {"", ""},
	} {
		p := services(t, `"a": {"devices": `+devices+`}`)
		requests, err := p.Requests()
		r, ok := requests["a"]
		if err != nil || ok != (want.request != "") || ok && (r.String() != want.request || !r.ByDevice) {
			t.Errorf("%s: %+v, %v", devices, requests, err)
		}
		if !ok {
			continue
		}
		if err := p.Inject("a", Injection{}); err != nil {
			t.Fatal(err)
		}
		left := ""
		if d := p.services["a"]["devices"]; d != nil {
			left = fmt.Sprint(d)
		}
		if left != want.left {
			t.Errorf("%s: left are %s, want %s", devices, left, want.left)
		}
	}
}

func TestClosure(t *testing.T) {
	p := services(t, `"a": {"depends_on": {"b": {}}}, "b": {"network_mode": "service:c"},
		"c": {"links": ["d:x"], "depends_on": {"a": {}}}, "d": {"volumes_from": ["e:ro", "container:f"]}, "e": {}, "f": {}`)
	for _, tt := range []struct {
		names []string
		alone bool
		want  []string
	}{
		{[]string{"a"}, false, []string{"a", "b", "c", "d", "e"}},
		{[]string{"a"}, true, []string{"a"}},
		{[]string{"f", "e", "none"}, false, []string{"e", "f"}},
	} {
		if d := cmp.Diff(tt.want, p.Closure(tt.names, tt.alone)); d != "" {
			t.Errorf("Closure(%v, %t) (-want +got):\n%s", tt.names, tt.alone, d)
		}
	}
}

func TestFacts(t *testing.T) {
	p := shop(t)
	if !p.Conditional("shares") || p.Conditional("train") {
		t.Error("only shares has a profile")
	}
	if value, ok := p.Label("labels", "train", "big"); value != "12345678901234567890" || !ok {
		t.Errorf("label big = %q, %t", value, ok)
	}
	if _, ok := p.Label("labels", "db", "big"); ok {
		t.Error("db has no label")
	}
	if !p.Has("db") || p.Has("none") || p.Name != "shop" {
		t.Error("the project is shop, with a service db and no service none")
	}
}

func TestReplicas(t *testing.T) {
	p := services(t, `"one": {}, "scale": {"scale": 2, "deploy": {"replicas": 3}}, "deploy": {"deploy": {"replicas": 0}}, "wrong": {"scale": 1e9}, "less": {"scale": -1}`)
	for name, want := range map[string]int{"one": 1, "scale": 2, "deploy": 0, "wrong": -1, "less": -1} {
		n, err := p.Replicas(name)
		if (err != nil) != (want < 0) || err == nil && n != want {
			t.Errorf("service %q: %d, %v; want %d", name, n, err, want)
		}
	}
}

func FuzzRead(f *testing.F) {
	text, err := os.ReadFile(filepath.Join("testdata", "project.json"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	for _, s := range []string{
		`{"name": "p", "services": {"a": {"gpus": [{"count": 1}], "scale": 2, "networks": {"n": null}}}}`,
		`{"name": "p", "services": {"a": {"gpus": [1, null, {"device_ids": [1, {}]}], "deploy": {"replicas": "x"}}}}`,
		`{"name": "p", "services": {"a": {"deploy": {"resources": {"reservations": {"devices": [{"capabilities": ["gpu"]}]}}}}, "b": {"depends_on": {"a": null}}}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := Read(text)
		if err != nil {
			return
		}
		requests, err := p.Requests()
		if err != nil {
			return
		}
		for name := range requests {
			if err := p.Inject(name, Injection{Edits: edits.Edits{Names: []string{"metax-tech.com/gpu=0"}, Groups: []uint32{1}}, Labels: map[string]string{"k": "v"}}); err != nil {
				t.Fatalf("what was read cannot be given: %v", err)
			}
		}
		first := write(t, p)
		again, err := Read([]byte(first))
		if err != nil {
			t.Fatalf("what was written cannot be read: %v\n%s", err, first)
		}
		if d := cmp.Diff(first, write(t, again)); d != "" {
			t.Fatalf("read back it is another:\n%s", d)
		}
	})
}
