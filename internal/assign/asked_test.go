// SPDX-License-Identifier: Apache-2.0

package assign

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/holders"
	"github.com/metax-ctk/container-toolkit/internal/oci"
	"github.com/metax-ctk/container-toolkit/internal/usage"
	"github.com/metax-ctk/container-toolkit/test/simtest"
)

// wish is one way in which a container asks for devices: an annotation, or a mount
// where the value is its source.
type wish struct{ key, value string }

// maker makes wishes by chance, of pieces that matter to the grammar.
type maker struct {
	*rand.Rand
	node gpu.Node
}

func (m maker) pick(from ...string) string { return from[m.IntN(len(from))] }

// id is mostly a name of the node's CDI spec.
func (m maker) id() string {
	g := m.node.GPUs[m.IntN(len(m.node.GPUs))]
	switch m.IntN(12) {
	case 0:
		return m.pick("", "none", "void", "99", "-1", "01", "0 ", " 0", "0/1", "..", "0\n", "0\x00", "0-", "é", "é0", "0é", "a é b", "GPU-", "0,", ":0")
	case 1:
		return m.pick(g.Serial, strings.ToUpper(string(g.UUID)), "ALL", "All")
	case 2, 3:
		return "all"
	case 4, 5:
		return g.BDF.String()
	case 6, 7:
		return string(g.UUID)
	}
	return m.pick("0", "1", "2", "3", "4", "5", "6", "7")
}

func (m maker) list(element func() string) string {
	all := make([]string, 1+m.IntN(3))
	for i := range all {
		all[i] = element()
	}
	return strings.Join(all, ",")
}

func (m maker) qualified() string {
	kind := "metax-tech.com/gpu="
	if m.IntN(8) == 0 {
		kind = m.pick("", "metax-tech.com/gpu", "metax-tech.com/gpu==", "metax-tech.com/gpus=", "metax-tech.com/maca=", "nvidia.com/gpu=", "Metax-tech.com/gpu=", "/gpu=", "metax-tech.com/=")
	}
	return kind + m.id()
}

func (m maker) annotation() wish {
	switch m.IntN(5) {
	case 0, 1:
		return wish{"metax-tech.com/gpu", m.list(m.id)}
	case 2, 3:
		return wish{"cdi.k8s.io/" + m.pick("", "a", "b", "a/b"), m.list(m.qualified)}
	}
	return wish{m.pick("metax-tech.com/gpus", "metax-tech.com/gpu/", "METAX-TECH.COM/GPU", "cdi.k8s.io", "CDI.k8s.io/a", "x", "metax-tech.com/lease"), m.list([]func() string{m.id, m.qualified}[m.IntN(2)])}
}

func (m maker) mount() wish {
	source, list := "/dev/null", "/var/run/metax-container-devices/"
	if m.IntN(4) == 0 {
		source = m.pick("", "/dev/zero", "dev/null", "/dev//null", "/dev/./null/", "/dev/null/x", "/dev/../dev/null")
	}
	if m.IntN(4) == 0 {
		list = m.pick("/var/run/metax-container-devices", "/run/metax-container-devices/", "/var/run//metax-container-devices/", "/var/run/metax-container-devices/../", "/x/../var/run/metax-container-devices/", "")
	}
	return wish{list + m.id(), source}
}

// config is the text of a config.json with these wishes.
func config(t *testing.T, annotations, mounts []wish) []byte {
	t.Helper()
	type mount struct {
		Destination string `json:"destination"`
		Source      string `json:"source"`
	}
	var c struct {
		Annotations map[string]string `json:"annotations"`
		Mounts      []mount           `json:"mounts"`
		Linux       struct{}          `json:"linux"`
	}
	c.Annotations = map[string]string{}
	for _, w := range annotations {
		c.Annotations[w.key] = w.value
	}
	for _, w := range mounts {
		c.Mounts = append(c.Mounts, mount{w.key, w.value})
	}
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// served are the GPUs that the runtime shim would give, found by the names of the CDI spec.
func served(t *testing.T, node gpu.Node, text []byte) ([]gpu.BDF, error) {
	t.Helper()
	c, err := oci.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	names, err := c.Request(oci.Policy{})
	if err != nil {
		if !errors.Is(err, oci.ErrRequest) {
			t.Fatal(err)
		}
		return nil, err
	}
	bdfs := map[string][]gpu.BDF{}
	for i, g := range node.GPUs {
		for _, name := range []string{string("01234567"[i]), string(g.UUID), g.BDF.String(), "all"} {
			name = "metax-tech.com/gpu=" + name
			bdfs[name] = append(bdfs[name], g.BDF)
		}
	}
	var found []gpu.BDF
	for _, name := range names {
		found = append(found, bdfs[name]...)
	}
	return usage.Sorted(found), nil
}

// TestAsked compares what counts as held with what the runtime shim gives: the same for every
// container that it serves. Where it refuses one for a malformed wish, what the other wishes
// ask for counts anyway.
func TestAsked(t *testing.T) {
	node := simtest.Node(t, "c500-8")
	root := simtest.Root(t, t.TempDir())
	devices := holders.NewDevices(node, root)
	m := maker{rand.New(rand.NewPCG(7, 11)), node}
	gave, refused, nothing := 0, 0, 0
	for range 5000 {
		var annotations, mounts []wish
		for range m.IntN(3) {
			annotations = append(annotations, m.annotation())
		}
		for range m.IntN(3) {
			mounts = append(mounts, m.mount())
		}
		text := config(t, annotations, mounts)
		want, err := served(t, node, text)
		switch {
		case err != nil:
			refused++
			want = m.apart(t, text)
		case len(want) > 0:
			gave++
		default:
			nothing++
		}
		got, err := devices.Bundle(text, true)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got.GPUs); diff != "" {
			t.Fatalf("%s: %s", text, diff)
		}
	}
	if gave < 500 || refused < 500 || nothing < 500 {
		t.Errorf("%d configs were served, %d refused, and %d asked for nothing: too few of some", gave, refused, nothing)
	}
}

// apart is what the shim gives for each wish of a config alone.
func (m maker) apart(t *testing.T, text []byte) []gpu.BDF {
	t.Helper()
	var c struct {
		Annotations map[string]string
		Mounts      []struct{ Destination, Source string }
	}
	if err := json.Unmarshal(text, &c); err != nil {
		t.Fatal(err)
	}
	var found []gpu.BDF
	for key, value := range c.Annotations {
		one, _ := served(t, m.node, config(t, []wish{{key, value}}, nil))
		found = append(found, one...)
	}
	for _, mount := range c.Mounts {
		one, _ := served(t, m.node, config(t, nil, []wish{{mount.Destination, mount.Source}}))
		found = append(found, one...)
	}
	return usage.Sorted(found)
}
