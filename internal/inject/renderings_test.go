// SPDX-License-Identifier: Apache-2.0

package inject

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/cdi"
	"github.com/metax-ctk/container-toolkit/internal/compose"
	"github.com/metax-ctk/container-toolkit/internal/dockerargs"
	"github.com/metax-ctk/container-toolkit/internal/edits"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/test/simtest"
)

// rendered is what a container gets, sorted: "HOST:PATH:rw", "HOST:PATH:ro", groups.
type rendered struct{ Devices, Mounts, Groups []string }

func (r rendered) sorted() rendered {
	slices.Sort(r.Devices)
	slices.Sort(r.Mounts)
	slices.Sort(r.Groups)
	return r
}

// TestRenderings has CDI, docker's options and a service of compose give the same.
func TestRenderings(t *testing.T) {
	node := simtest.Node(t, "c500-8")
	chosen := node.GPUs[2]
	all := edits.Container(node, []gpu.GPU{chosen}, nil).Below("/node")
	want := ofCDI(t, node, chosen)
	if len(want.Devices) < 3 || len(want.Mounts) != 1 || len(want.Groups) == 0 {
		t.Fatalf("too little to compare: %v", want)
	}
	if diff := cmp.Diff(want, ofDocker(all.ByValue())); diff != "" {
		t.Errorf("docker's options (-CDI +docker):\n%s", diff)
	}
	if diff := cmp.Diff(want, ofCompose(t, all.ByValue())); diff != "" {
		t.Errorf("compose (-CDI +compose):\n%s", diff)
	}
	name := "metax-tech.com/gpu=" + chosen.Name()
	byName := rendered{Devices: []string{name}, Groups: want.Groups}
	if diff := cmp.Diff(byName, ofDocker(all.ByName())); diff != "" {
		t.Errorf("docker's options by name (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(byName, ofCompose(t, all.ByName())); diff != "" {
		t.Errorf("compose by name (-want +got):\n%s", diff)
	}
}

func ofCDI(t *testing.T, node gpu.Node, g gpu.GPU) (r rendered) {
	t.Helper()
	spec, err := cdi.Generate(node, cdi.Options{EngineRoot: "/node"})
	if err != nil {
		t.Fatal(err)
	}
	all := spec.ContainerEdits
	for _, d := range spec.Devices {
		if d.Name == g.Name() {
			all.DeviceNodes = append(all.DeviceNodes, d.ContainerEdits.DeviceNodes...)
			all.AdditionalGIDs = append(all.AdditionalGIDs, d.ContainerEdits.AdditionalGIDs...)
		}
	}
	for _, n := range all.DeviceNodes {
		r.Devices = append(r.Devices, n.HostPath+":"+n.Path+":"+n.Permissions)
	}
	for _, m := range all.Mounts {
		r.Mounts = append(r.Mounts, m.HostPath+":"+m.ContainerPath+":"+m.Options[1])
	}
	for _, gid := range all.AdditionalGIDs {
		r.Groups = append(r.Groups, strconv.FormatUint(uint64(gid), 10))
	}
	r.Groups = slices.Compact(r.sorted().Groups)
	return r.sorted()
}

func ofDocker(e edits.Edits) (r rendered) {
	options, _ := dockerargs.FromEdits(e)
	for _, option := range options {
		name, value, _ := strings.Cut(option, "=")
		if name == "--env" {
			continue // a CDI device of one GPU has none
		}
		list := map[string]*[]string{"--device": &r.Devices, "--volume": &r.Mounts, "--group-add": &r.Groups}[name]
		*list = append(*list, value)
	}
	return r.sorted()
}

func ofCompose(t *testing.T, e edits.Edits) (r rendered) {
	t.Helper()
	p, err := compose.Read([]byte(`{"name": "p", "services": {"s": {"gpus": [{"count": 1}]}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Inject("s", compose.Injection{Edits: e}); err != nil {
		t.Fatal(err)
	}
	text, err := p.JSON()
	if err != nil {
		t.Fatal(err)
	}
	var project struct {
		Services map[string]struct {
			Devices []struct{ Source, Target, Permissions string }
			Volumes []struct {
				Source, Target string
				ReadOnly       bool `json:"read_only"`
			}
			Groups []string `json:"group_add"`
			Deploy struct {
				Resources struct {
					Reservations struct {
						Devices []struct {
							IDs []string `json:"device_ids"`
						}
					}
				}
			}
		}
	}
	if err := json.Unmarshal(text, &project); err != nil {
		t.Fatal(err)
	}
	s := project.Services["s"]
	for _, d := range s.Deploy.Resources.Reservations.Devices {
		r.Devices = append(r.Devices, d.IDs...)
	}
	for _, d := range s.Devices {
		r.Devices = append(r.Devices, d.Source+":"+d.Target+":"+d.Permissions)
	}
	for _, v := range s.Volumes {
		r.Mounts = append(r.Mounts, v.Source+":"+v.Target+map[bool]string{true: ":ro", false: ":rw"}[v.ReadOnly])
	}
	r.Groups = s.Groups
	return r.sorted()
}
