// SPDX-License-Identifier: Apache-2.0

package assign

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/alloc"
	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/internal/discover/mxsmi"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/lease"
	"github.com/metax-ctk/container-toolkit/internal/request"
	"github.com/metax-ctk/container-toolkit/internal/topology"
	"github.com/metax-ctk/container-toolkit/internal/usage"
	"github.com/metax-ctk/container-toolkit/test/simtest"
)

// simulated is a simulated node of which some GPUs are unhealthy.
func simulated(t *testing.T, name string, sick ...int) gpu.Node {
	t.Helper()
	node := simtest.Node(t, name)
	for _, i := range sick {
		node.GPUs[i].Healthy = false
	}
	return node
}

func parse(t *testing.T, text string) request.Request {
	t.Helper()
	r, err := request.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// services are requests "NAME VALUE", with "+share", "+link" or "+enforce" behind.
func services(t *testing.T, words ...string) (out []Request) {
	t.Helper()
	for _, word := range words {
		name, value, _ := strings.Cut(word, " ")
		value, share := strings.CutSuffix(value, "+share")
		value, enforce := strings.CutSuffix(value, "+enforce")
		value, link := strings.CutSuffix(value, "+link")
		r := Request{Service: name, Request: parse(t, value), Share: share}
		if link {
			r.Scope = key.Link
		}
		if enforce {
			r.Sizes = alloc.Enforce
		}
		out = append(out, r)
	}
	return out
}

// use is a holder of GPUs of the node, and of a slice if it is not empty.
func use(node gpu.Node, slice string, indices ...int) usage.Holder {
	lease := &usage.Lease{ID: "6f1d2c9a04be"}
	if slice != "" {
		lease.Slices = []string{slice}
	}
	return usage.Holder{GPUs: gpuBDFs(node, indices), Lease: lease}
}

// had is a stopped container with GPUs under a lease that is over.
func had(node gpu.Node, state usage.ContainerState, gpus ...int) *Had {
	return &Had{
		Container: usage.Container{ID: "c", State: state, Facts: usage.Facts{GPUs: gpuBDFs(node, gpus)}},
		Labels:    map[string]string{usage.LeaseLabel: "0123456789ab", usage.GPUsLabel: "its"},
	}
}

// outcome is what a job came to, as text: the GPUs of each request, or the error.
func outcome(job Job, holders []usage.Holder, reserved ...gpu.BDF) string {
	p, err := NewPlan(job)
	if err != nil {
		return err.Error()
	}
	return chosen(p, holders, reserved...)
}

// chosen is what is chosen of a plan, as text: the GPUs of each request, or the error.
func chosen(p *Plan, holders []usage.Holder, reserved ...gpu.BDF) string {
	choice, err := p.Choose(holders, reserved)
	if err != nil {
		return err.Error()
	}
	var out []string
	for _, given := range choice.Result(nil).Given {
		var gpus []int
		for _, g := range given.GPUs {
			gpus = append(gpus, g.Index)
		}
		out = append(out, fmt.Sprint(gpus))
	}
	return strings.Join(out, " ")
}

// TestChooseOne chooses for the only container of a command line.
func TestChooseOne(t *testing.T) {
	whole, cut, sick := simulated(t, "c500-8"), simulated(t, "c500-8-sgpu"), simulated(t, "c500-8", 0, 1, 2, 3, 4, 5, 6, 7)
	part := cut.GPUs[5].Slices[0].Name()
	for name, tc := range map[string]struct {
		node    gpu.Node
		value   string
		share   bool
		holders []usage.Holder
		want    string
	}{
		"linked":              {whole, "4", false, []usage.Holder{use(whole, "", 1)}, "[4 5 6 7]"},
		"too many in use":     {whole, "4", false, []usage.Holder{use(whole, "", 0, 1, 2, 3, 4)}, "cannot get 4 GPUs: only 3 of 8 are free (metax-ctk ps)"},
		"free ones, shared":   {whole, "4", true, []usage.Holder{use(whole, "", 0, 1, 2, 3, 4)}, "[4 5 6 7]"},
		"more than there are": {whole, "9", false, nil, "9 GPUs requested, but this node has only 8"},
		"more than usable":    {cut, "7", false, nil, "7 GPUs requested, but only 6 of 8 GPUs are free and healthy (metax-ctk device list)"},
		"none usable":         {sick, "1", false, nil, "no usable GPU: all are unhealthy or divided into slices (metax-ctk device list); GPU 0 is unhealthy: metax-ctk health says why (0000:0e:00.0), and 7 more"},
		"all, none usable":    {sick, "all", false, nil, "no usable GPU: all are unhealthy or divided into slices (metax-ctk device list); GPU 0 is unhealthy: metax-ctk health says why (0000:0e:00.0), and 7 more"},
		"all":                 {cut, "all", false, nil, "[0 1 3 4 6 7]"},
		"all, one in use":     {whole, "all", false, []usage.Holder{use(whole, "", 3)}, "cannot get 8 GPUs: only 7 of 8 are free (metax-ctk ps). Unlike docker, GPUs are not shared by default: --gpus=7 or --gpus-share"},
		"all, shared":         {whole, "all", true, []usage.Holder{use(whole, "", 3)}, "[0 1 2 3 4 5 6 7]"},
		"named":               {sick, "2,0", false, nil, "[0 2]"},
		"named, in use":       {whole, "2,3", false, []usage.Holder{use(whole, "", 3)}, "GPU 3 is in use by lease 6f1d2c9a04be (metax-ctk ps)"},
		"named, shared":       {whole, "2,3", true, []usage.Holder{use(whole, "", 3)}, "[2 3]"},
		"unknown":             {whole, "[8]", false, nil, `"8" is not a GPU: use a count (2), all, or IDs (0,2); this node has GPUs 0-7`},
		"range too long":      {whole, "0-9", false, nil, "the range 0-9 includes 8, which is not a GPU; this node has GPUs 0-7"},
		"twice":               {whole, "0,0000:0e:00.0", false, nil, `--gpus: GPU "0" and GPU "0000:0e:00.0": both are GPU 0 at 0000:0e:00.0 with serial number ` + whole.GPUs[0].Serial + `; name it once`},
		"divided":             {cut, "[2]", false, nil, "GPU 2 is divided into slices and cannot be used whole (it is in slice mode): request a slice, --gpus=sgpu:UUID (metax-ctk sgpu list)"},
		"a slice":             {cut, "sgpu:" + part, false, []usage.Holder{use(cut, "other", 5)}, "[5]"},
		"a slice in use":      {cut, "sgpu:" + part, false, []usage.Holder{use(cut, part, 5)}, "slice " + part + " of GPU 5 is in use by lease 6f1d2c9a04be (metax-ctk ps)"},
		"a slice, shared":     {cut, "sgpu:" + part, true, []usage.Holder{use(cut, part, 5)}, "[5]"},
	} {
		t.Run(name, func(t *testing.T) {
			job := Job{Node: tc.node, Requests: []Request{{Request: parse(t, tc.value), Share: tc.share}}}
			if d := cmp.Diff(tc.want, outcome(job, tc.holders)); d != "" {
				t.Error(d)
			}
		})
	}
	if got := outcome(Job{Node: whole, Requests: []Request{{Request: parse(t, "[3]")}}}, nil, whole.GPUs[3].BDF); got != "a request that came earlier waits for GPUs (metax-ctk ps)" {
		t.Errorf("a reserved GPU: %s", got)
	}
}

// TestNoNodes requests a GPU and a slice that have no device nodes.
func TestNoNodes(t *testing.T) {
	node := simulated(t, "c500-8-sgpu")
	node.GPUs[0].Nodes, node.GPUs[5].Slices[0].Nodes = nil, nil
	part := node.GPUs[5].Slices[0].Name()
	for value, want := range map[string]string{
		"[0]":          "GPU 0 (0000:0e:00.0) has no device nodes, so it cannot be used: check its driver (metax-ctk doctor)",
		"sgpu:" + part: "slice " + part + " of GPU 5 has no device nodes, so it cannot be used (metax-ctk sgpu list)",
	} {
		if got := outcome(Job{Node: node, Requests: []Request{{Request: parse(t, value)}}}, nil); got != want {
			t.Errorf("%s: %s, want %s", value, got, want)
		}
	}
}

// TestChooseTogether chooses for the services of a project.
func TestChooseTogether(t *testing.T) {
	node := simulated(t, "c500-8")
	stopped, runs := services(t, "a 2", "b 4"), services(t, "a 2", "b 2")
	stopped[0].Had = had(node, usage.Exited, 1, 4)
	runs[0].Had, runs[0].Idle, runs[1].Idle = had(node, usage.Running, 1, 4), true, true
	never, far := services(t, "a 2", "b 7"), services(t, "a 2", "b 4+link")
	never[0].Had, far[0].Had = runs[0].Had, runs[0].Had
	moved := services(t, "a 2", "b 4")
	moved[0].Had = had(node, usage.Exited, 1, 4)
	moved[0].Had.Given.GPUs = usage.IDs([]gpu.GPU{node.GPUs[1], node.GPUs[5]})
	changed := services(t, "a 3")
	changed[0].Had = had(node, usage.Running, 1, 4)
	for name, tc := range map[string]struct {
		requests []Request
		holders  []usage.Holder
		want     string
	}{
		"best together":        {services(t, "a 2", "b 4", "c 2"), nil, "[4 5] [0 1 2 3] [6 7]"},
		"named ones first":     {services(t, "a 4", "b [0]"), nil, "[4 5 6 7] [0]"},
		"more than there are":  {services(t, "a 5", "b 4"), nil, "9 GPUs requested by 2 services, but this node has only 8 usable ones (metax-ctk device list)"},
		"more than are free":   {services(t, "a 5", "b 3"), []usage.Holder{use(node, "", 0)}, "cannot get 8 GPUs: only 7 of 8 are free (metax-ctk ps)"},
		"one GPU for two":      {services(t, "a [3]", "b [3]"), nil, `services "a" and "b" both request GPU 3. To give it to both: --gpus-share`},
		"shared by two":        {services(t, "a [3]", "b [3]+share"), nil, "[3] [3]"},
		"in use":               {services(t, "a [3]"), []usage.Holder{use(node, "", 3)}, `service "a": GPU 3 is in use by lease 6f1d2c9a04be (metax-ctk ps)`},
		"all, one in use":      {services(t, "a all"), []usage.Holder{use(node, "", 3)}, `service "a": cannot get 8 GPUs: only 7 of 8 are free (metax-ctk ps)`},
		"the sharing one last": {services(t, "a 4+share", "b 6"), nil, "[4 5 6 7] [0 1 2 3 4 5]"},
		"more than one needs":  {services(t, "a 9"), nil, `service "a": 9 GPUs requested, but this node has only 8`},
		"all and one more":     {services(t, "a all", "b 1"), nil, "9 GPUs requested by 2 services, but this node has only 8 usable ones (metax-ctk device list)"},
		"shared and one more":  {services(t, "a [0-7]+share", "b 1"), nil, "9 GPUs requested by 2 services, but this node has only 8 usable ones (metax-ctk device list)"},
		"in a scope":           {services(t, "a 2+link", "b 4"), []usage.Holder{use(node, "", 0, 1)}, "[2 3] [4 5 6 7]"},
		"in a scope, in use":   {services(t, "a 4+link"), []usage.Holder{use(node, "", 0, 4)}, `service "a": no 4 free GPUs are joined by MetaXLink (at most 3); without scope link: 1,2,5,6 (NODE); metax-ctk ps shows who uses the others`},
		"in a scope, shared":   {services(t, "a 4+link+share"), []usage.Holder{use(node, "", 0, 4)}, "[0 1 2 3]"},
		"in a scope, never":    {services(t, "a 3+link", "b 3+link", "c 2+link"), nil, `the services cannot all be served: service "c": no 2 free GPUs are joined by MetaXLink; without scope link: 3,7 (NODE)`},
		"of a refused size":    {services(t, "a 3+enforce", "b 1"), nil, `service "a": 3 GPUs requested; only 1, 2, 4 or 8 are allowed, and 4 can be picked`},
		"unknown":              {services(t, "a [9]"), nil, `service "a": "9" is not a GPU; this node has GPUs 0-7`},
		"stopped, has them":    {stopped, nil, "[1 4] [0 2 5 6]"},
		"stopped, displaced":   {stopped, []usage.Holder{use(node, "", 4)}, "[5 6] [0 1 2 3]"},
		"stopped, moved":       {moved, nil, "[4 5] [0 1 2 3]"},
		"runs, the other not":  {runs, []usage.Holder{use(node, "", 1, 4)}, "[1 4] []"},
		"runs, too many more":  {never, []usage.Holder{use(node, "", 1, 4)}, "9 GPUs requested by 2 services, but this node has only 8 usable ones; running services keep 2 (metax-ctk device list)"},
		"runs, in a scope":     {far, nil, `the services cannot all be served: service "b": no 4 free GPUs are joined by MetaXLink (at most 3); without scope link: 0,2,5,6 (NODE)`},
		"runs with another":    {changed, []usage.Holder{use(node, "", 1, 4)}, "[0 2 3]"},
	} {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(tc.want, outcome(Job{Node: node, Requests: tc.requests}, tc.holders)); d != "" {
				t.Error(d)
			}
		})
	}
	graph, _ := topology.New(node)
	p := Plan{Job: Job{Node: node}, picker: alloc.New(graph), wants: []want{{Request: Request{Service: "b", Request: request.Request{Count: -1}}}}}
	const want = `service "b": pick GPUs: -1 GPUs requested; want at least 1`
	if _, err := p.Choose(nil, nil); err == nil || err.Error() != want {
		t.Errorf("%v; want %s", err, want)
	}
}

// TestScope demands GPUs joined by MetaXLink on a node whose links are unknown, are too few,
// or are in use, for which alone waiting helps.
func TestScope(t *testing.T) {
	node := simulated(t, "c500-8")
	unknown := simulated(t, "c500-8-pcie")
	unknown.Warnings = []string{mxsmi.LinksUnknown + ". Once per boot: sudo metax-ctk cdi generate"}
	for name, tc := range map[string]struct {
		node    gpu.Node
		value   string
		holders []usage.Holder
		want    string
		busy    bool
	}{
		"unknown": {unknown, "2+link", nil, "scope link: MetaXLink topology unknown. Once per boot: sudo metax-ctk cdi generate", false},
		"too few": {node, "8+link", nil, "8 GPUs requested, but a MetaXLink domain of this node has only 4; without scope link: 0-7 (NODE)", false},
		"in use":  {node, "4+link", []usage.Holder{use(node, "", 3, 7)}, "no 4 free GPUs are joined by MetaXLink (at most 3); without scope link: 0,1,4,5 (NODE); metax-ctk ps shows who uses the others", true},
	} {
		p, err := NewPlan(Job{Node: tc.node, Requests: services(t, " "+tc.value)})
		if err == nil {
			_, err = p.Choose(tc.holders, nil)
		}
		if err == nil || err.Error() != tc.want || errors.Is(err, lease.ErrBusy) != tc.busy {
			t.Errorf("%s: %v (busy: %v), want %s", name, err, errors.Is(err, lease.ErrBusy), tc.want)
		}
	}
}

// TestClasses holds how well the GPUs of services are linked, on two quads.
func TestClasses(t *testing.T) {
	node := simulated(t, "c500-8")
	for name, tc := range map[string]struct {
		used    []int
		sizes   []int
		classes string
	}{
		"two quads":                         {nil, []int{4, 4}, "MX MX"},
		"small ones first on the line":      {nil, []int{2, 2, 4}, "MX MX MX"},
		"all that there is":                 {nil, []int{1, 2, 1, 2, 2}, "MX MX MX MX MX"},
		"nothing":                           {nil, nil, ""},
		"more than are tried in all orders": {nil, []int{1, 1, 1, 1, 1, 1, 2}, "MX MX MX MX MX MX MX"},
		"one has to cross":                  {[]int{3, 7}, []int{2, 2, 2}, "MX MX NODE"},
	} {
		t.Run(name, func(t *testing.T) {
			var words []string
			for i, n := range tc.sizes {
				words = append(words, fmt.Sprintf("s%d %d", i, n))
			}
			job := Job{Node: node, Requests: services(t, words...)}
			p, err := NewPlan(job)
			if err != nil {
				t.Fatal(err)
			}
			choice, err := p.Choose([]usage.Holder{use(node, "", tc.used...)}, nil)
			if err != nil {
				t.Fatal(err)
			}
			given := slices.Clone(tc.used)
			var classes []string
			for i, got := range choice.picks {
				if len(got.gpus) != tc.sizes[i] {
					t.Errorf("service %d has %v, want %d GPUs", i, got.gpus, tc.sizes[i])
				}
				a, err := p.picker.Pick(alloc.Request{N: len(got.gpus), Free: got.gpus})
				if err != nil {
					t.Fatal(err)
				}
				given, classes = append(given, got.gpus...), append(classes, a.Class.String())
			}
			slices.Sort(given)
			if len(slices.Compact(slices.Clone(given))) != len(given) {
				t.Errorf("a GPU is given twice: %v", given)
			}
			slices.Sort(classes)
			if d := cmp.Diff(tc.classes, strings.Join(classes, " ")); d != "" {
				t.Errorf("classes (-want +got):\n%s", d)
			}
			holders := []usage.Holder{use(node, "", tc.used...)}
			if first, again := outcome(job, holders), outcome(job, holders); first != again {
				t.Errorf("asked again: %s, and before %s", again, first)
			}
		})
	}
}

// TestPreviewSays holds what there is to say of a choice.
func TestPreviewSays(t *testing.T) {
	node := simulated(t, "c500-8", 7)
	node.Warnings = []string{"a warning of discovery"}
	preview := func(requests ...Request) Result {
		p, err := NewPlan(Job{Node: node, Requests: requests, Explain: true})
		if err != nil {
			t.Fatal(err)
		}
		r, err := p.Preview(lease.Report{Holders: []usage.Holder{use(node, "", 0)}})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	one := preview(Request{Request: parse(t, "2")})
	if d := cmp.Diff([]string{"a warning of discovery"}, one.Warnings); d != "" || !strings.HasSuffix(one.Explanation, "\nin use: 0 (metax-ctk ps)\n") || one.Given[0].Labels != nil {
		t.Errorf("for a count: labels %v, %s%s", one.Given[0].Labels, one.Explanation, d)
	}
	if r := preview(Request{Request: parse(t, "all"), Share: true}); !slices.Equal(r.Warnings, []string{"1 of 8 GPUs are left out because they are unhealthy or divided into slices (metax-ctk device list)"}) || r.Explanation != "" {
		t.Errorf("for all: %q, %q", r.Warnings, r.Explanation)
	}
	if r := preview(Request{Request: parse(t, "[7]")}); !slices.Equal(r.Warnings, []string{"GPU 7 is unhealthy: metax-ctk health says why (0000:38:00.0)"}) {
		t.Errorf("for one that is unhealthy: %q", r.Warnings)
	}
	if r := preview(services(t, "a 2", "b 2")...); !strings.HasPrefix(r.Explanation, "service a:\n") || !strings.Contains(r.Explanation, "\nservice b:\n") || strings.Contains(r.Explanation, "in use:") {
		t.Errorf("for services: %s", r.Explanation)
	}
}
