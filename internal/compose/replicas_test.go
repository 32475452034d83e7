package compose

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/edits"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// The project of the shop, each container a service with GPUs, by both ways.
func TestGive(t *testing.T) {
	labels := map[string]string{"metax-tech.com/lease": "abc"}
	node := gpu.NewNode("")
	node.Driver, node.Shared = &gpu.Driver{Path: "/opt/mxdriver"}, &gpu.Shared{Nodes: []string{"/dev/mxcd"}}
	one := gpu.GPU{UUID: "GPU-1", Nodes: []string{"/dev/dri/card1"}, GIDs: []uint32{44}}
	all := edits.Container(node, []gpu.GPU{one}, nil).Below("/node")
	for name, given := range map[string]Injection{
		"cdi.json":   {Edits: all.ByName(), Labels: labels},
		"flags.json": {Edits: all.ByValue(), Labels: labels},
	} {
		t.Run(name, func(t *testing.T) {
			p := shop(t)
			requests, err := p.Requests()
			if err != nil {
				t.Fatal(err)
			}
			if err := p.Expand([]string{"train", "serve", "built", "cdi", "shares"}, Scale{}); err != nil {
				t.Fatal(err)
			}
			for service := range requests {
				for _, copied := range p.Copies(service) {
					if err := p.Inject(copied, given); err != nil {
						t.Fatal(err)
					}
				}
			}
			golden(t, name, write(t, p))
			left, err := read(t, write(t, p)).Requests()
			if err != nil {
				t.Fatal(err)
			}
			for service, r := range left {
				if name == "flags.json" || r.String() != "[GPU-1]" {
					t.Errorf("service %q still asks for %v", service, r)
				}
			}
		})
	}
	if err := shop(t).Inject("none", Injection{}); err == nil {
		t.Error("a service that is not there can be given something")
	}
}

// counts are the containers of each service.
func counts(t *testing.T, p *Project) map[string]int {
	t.Helper()
	out := map[string]int{}
	for _, name := range p.Services() {
		n, err := p.replicas(name)
		if err != nil {
			t.Fatal(err)
		}
		out[name] = n
	}
	return out
}

func TestExpand(t *testing.T) {
	const three = `"a": {"deploy": {"replicas": 3}}, "b": {"depends_on": {"a": {"condition": "service_started"}}, "scale": 4}`
	tests := []struct {
		name, services string
		scale          Scale
		want           map[string]int
		depends        string
	}{
		{"replicas", three, Scale{}, map[string]int{"a": 1, "a-2": 1, "a-3": 1, "b": 4}, "a a-2 a-3"},
		{"one", `"a": {}, "b": {"depends_on": {"a": {}}}`, Scale{}, map[string]int{"a": 1, "b": 1}, "a"},
		{"by the line", three, Scale{Want: map[string]int{"a": 2}}, map[string]int{"a": 1, "a-2": 1, "b": 4}, "a a-2"},
		{"none", three, Scale{Want: map[string]int{"a": 0}}, map[string]int{"a": 0, "b": 4}, "a"},
		{
			"fewer than there are", three,
			Scale{Want: map[string]int{"a": 1}, There: []string{"a", "a-3", "a-x", "a-01", "c-2"}},
			map[string]int{"a": 1, "a-2": 0, "a-3": 0, "b": 4},
			"a",
		},
		{
			"those that are there", `"a": {}, "b": {"depends_on": {"a": {}}}`,
			Scale{There: []string{"a-2"}, Keep: true},
			map[string]int{"a": 1, "a-2": 1, "b": 1},
			"a a-2",
		},
		{"another's name", `"a": {}, "a-2": {}, "b": {}`, Scale{There: []string{"a-2"}, Keep: true}, map[string]int{"a": 1, "a-2": 1, "b": 1}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := services(t, tt.services)
			if err := p.Expand([]string{"a"}, tt.scale); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, counts(t, p)); d != "" {
				t.Errorf("containers (-want +got):\n%s", d)
			}
			if got := strings.Join(p.needs("b"), " "); got != tt.depends {
				t.Errorf("b depends on %q, want %q", got, tt.depends)
			}
			if p.Empty("a") != (tt.want["a"] == 0) {
				t.Errorf("Empty(a) = %t", p.Empty("a"))
			}
		})
	}
}

// Two services with copies that depend on each other's.
func TestExpandBoth(t *testing.T) {
	p := services(t, `"a": {"scale": 2}, "b": {"scale": 2, "depends_on": {"a": {}}}`)
	if err := p.Expand([]string{"b", "a"}, Scale{}); err != nil {
		t.Fatal(err)
	}
	for _, name := range p.Copies("b") {
		if got := strings.Join(p.needs(name), " "); got != "a a-2" {
			t.Errorf("%s depends on %q", name, got)
		}
	}
	if d := cmp.Diff([]string{"b", "b-2"}, p.Copies("b")); d != "" {
		t.Errorf("copies of b (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{"c"}, p.Copies("c")); d != "" {
		t.Errorf("copies of what was not expanded (-want +got):\n%s", d)
	}
}

func TestExpandRefuses(t *testing.T) {
	for text, want := range map[string]string{
		`"a": {"scale": 2}, "a-2": {}`:             `"a-2", which is already used`,
		`"a": {"scale": 2, "container_name": "x"}`: "container_name",
		`"a": {"scale": 1e9}`:                      "replicas",
		`"a": {"scale": 100000}`:                   "a number from 0 to 1024",
		`"a": {"scale": -1}`:                       "replicas",
	} {
		err := services(t, text).Expand([]string{"a"}, Scale{})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), `"a"`) {
			t.Errorf("%s: %v, want an error with %q", text, err, want)
		}
	}
	p := services(t, `"a": {"scale": 2, "container_name": "x"}`)
	if err := p.Expand([]string{"a"}, Scale{Want: map[string]int{"a": 1}}); err != nil {
		t.Errorf("one container may have a name: %v", err)
	}
}

// A variable that the service sets, or unsets, stays.
func TestInjectVariables(t *testing.T) {
	p, err := Read([]byte(`{"name": "p", "services": {"s": {"gpus": [{"count": 1}], "environment": {"A": "mine", "B": null}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Inject("s", Injection{Edits: edits.Edits{GPUEnv: []string{"A=1", "B=2", "C=3=4"}}}); err != nil {
		t.Fatal(err)
	}
	want := object{"A": "mine", "B": nil, "C": "3=4"}
	if d := cmp.Diff(want, p.services["s"]["environment"]); d != "" {
		t.Error(d)
	}
}
