// SPDX-License-Identifier: Apache-2.0

package cdi

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	specs "tags.cncf.io/container-device-interface/specs-go"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

func TestDiff(t *testing.T) {
	without := func(i int) gpu.Node {
		n := twoGPUs()
		n.GPUs[i].Nodes, n.GPUs[i].NodeGIDs = nil, nil
		return n
	}
	short := Options{Names: ByIndex | All}
	none := Options{Names: ByIndex | All, NoGroups: true}
	for _, tc := range []struct {
		name       string
		have, want *specs.Spec
		lines      []string
	}{
		{"the same", generated(t, twoGPUs(), Options{}), generated(t, twoGPUs(), Options{}), nil},
		{"GPU comes", generated(t, without(1), Options{Names: ByIndex | All, Partial: true}), generated(t, twoGPUs(), short), []string{
			"+ device 1",
			"+ device all: deviceNodes /dev/dri/card10",
			"+ device all: deviceNodes /dev/dri/renderD137",
			`~ device all: env METAX_GPU_INDICES: "METAX_GPU_INDICES=0" → "METAX_GPU_INDICES=0,1"`,
			`~ device all: env METAX_GPU_UUIDS: "METAX_GPU_UUIDS=GPU-3fd4ee8f-169c-6d31-f9dc-c2a90a441f1b" → "METAX_GPU_UUIDS=GPU-3fd4ee8f-169c-6d31-f9dc-c2a90a441f1b,GPU-8e1a3bd1-42d3-4f60-ac7c-9e7f63d6e0aa"`,
		}},
		{"GPU goes", generated(t, twoGPUs(), short), generated(t, without(0), Options{Names: ByIndex | All, Partial: true}), []string{
			"- device all: deviceNodes /dev/dri/card1",
			"- device all: deviceNodes /dev/dri/renderD128",
			`~ device all: env METAX_GPU_INDICES: "METAX_GPU_INDICES=0,1" → "METAX_GPU_INDICES=1"`,
			`~ device all: env METAX_GPU_UUIDS: "METAX_GPU_UUIDS=GPU-3fd4ee8f-169c-6d31-f9dc-c2a90a441f1b,GPU-8e1a3bd1-42d3-4f60-ac7c-9e7f63d6e0aa" → "METAX_GPU_UUIDS=GPU-8e1a3bd1-42d3-4f60-ac7c-9e7f63d6e0aa"`,
			"- device 0",
		}},
		{"groups go", generated(t, twoGPUs(), short), generated(t, twoGPUs(), none), []string{
			"- additionalGids 44",
			`~ cdiVersion: "0.7.0" → "0.5.0"`,
			"- device 0: additionalGids 105",
			"- device 0: additionalGids 44",
			"- device 1: additionalGids 105",
			"- device 1: additionalGids 44",
			"- device all: additionalGids 105",
			"- device all: additionalGids 44",
		}},
		{"everything else", editsOf(specs.ContainerEdits{
			Env:        []string{"A=1", "B=1"},
			Hooks:      []*specs.Hook{{HookName: "prestart", Path: "/h", Args: []string{"h", "x"}}},
			Mounts:     []*specs.Mount{{HostPath: "/a", ContainerPath: "/m"}},
			NetDevices: []*specs.LinuxNetDevice{{HostInterfaceName: "eth0", Name: "n"}},
		}), editsOf(specs.ContainerEdits{
			Env:      []string{"A=2", "C=1"},
			Hooks:    []*specs.Hook{{HookName: "prestart", Path: "/h", Args: []string{"h", "y"}}},
			Mounts:   []*specs.Mount{{HostPath: "/b", ContainerPath: "/m"}},
			IntelRdt: &specs.IntelRdt{ClosID: "i"},
		}), []string{
			`~ env A: "A=1" → "A=2"`,
			"- env B",
			"+ env C",
			"- hooks prestart /h h x",
			"+ hooks prestart /h h y",
			"+ intelRdt",
			`~ mounts /m: {"hostPath":"/a","containerPath":"/m"} → {"hostPath":"/b","containerPath":"/m"}`,
			"- netDevices eth0",
		}},
		{
			"text that would forge lines", editsOf(specs.ContainerEdits{
				Env:    []string{"A=\x7f\u202e"},
				Mounts: []*specs.Mount{{HostPath: "/a", ContainerPath: "/c\x1b[32m\n- device 7"}},
			}), editsOf(specs.ContainerEdits{Env: []string{"A="}}),
			[]string{
				"~ env A: \"A=\uFFFD\uFFFD\" → \"A=\"",
				"- mounts /c\uFFFD[32m\uFFFD- device 7",
			},
		},
		{"order alone", editsOf(specs.ContainerEdits{Env: []string{"A=1", "B=1"}}), editsOf(specs.ContainerEdits{Env: []string{"B=1", "A=1"}}), nil},
		{"a variable twice", editsOf(specs.ContainerEdits{Env: []string{"A=1"}}), editsOf(specs.ContainerEdits{Env: []string{"A=1", "A=1"}}), []string{"+ env A #2"}},
		{
			"kind and annotations", &specs.Spec{Kind: "a/b", Devices: []specs.Device{{Name: "d", Annotations: map[string]string{"k": "1"}}}},
			&specs.Spec{Kind: "a/c", Annotations: map[string]string{"k": "2"}, Devices: []specs.Device{{Name: "d"}}},
			[]string{
				"+ annotations k",
				`~ kind: "a/b" → "a/c"`,
				"- device d: annotations k",
			},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var lines []string
			for _, d := range Diff(tc.have, tc.want) {
				lines = append(lines, d.String())
			}
			if diff := cmp.Diff(tc.lines, lines); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func editsOf(e specs.ContainerEdits) *specs.Spec { return &specs.Spec{ContainerEdits: e} }

func TestDiffJSON(t *testing.T) {
	have, want := generated(t, twoGPUs(), Options{Names: All}), generated(t, twoGPUs(), Options{Names: All})
	want.ContainerEdits.Mounts[0].Options = nil
	got, err := json.Marshal(Diff(have, want))
	if err != nil {
		t.Fatal(err)
	}
	line := `[{"op":"changed","field":"mounts","key":"/opt/mxdriver",` +
		`"have":{"hostPath":"/opt/mxdriver","containerPath":"/opt/mxdriver","options":["bind","ro","nosuid","nodev","rprivate"]},` +
		`"want":{"hostPath":"/opt/mxdriver","containerPath":"/opt/mxdriver"}}]`
	if diff := cmp.Diff(line, string(got)); diff != "" {
		t.Error(diff)
	}
}

// TestWithoutHooks: specs that differ in a hook alone are the same without.
func TestWithoutHooks(t *testing.T) {
	have, want := generated(t, twoGPUs(), Options{Hook: hook}), generated(t, twoGPUs(), Options{})
	if got := Diff(have, want); len(got) != 1 {
		t.Errorf("differences %v, want that of the hook", got)
	}
	if got := Diff(WithoutHooks(have), WithoutHooks(want)); len(got) != 0 {
		t.Errorf("without hooks: %v", got)
	}
	if len(have.ContainerEdits.Hooks) != 1 {
		t.Error("the spec itself was changed")
	}
}
