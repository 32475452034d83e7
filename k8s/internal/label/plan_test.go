// SPDX-License-Identifier: Apache-2.0

package label

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// object is a node object: for each manager the labels that it wrote.
func object(t testing.TB, wrote map[string]map[string]string) metav1.ObjectMeta {
	t.Helper()
	o := metav1.ObjectMeta{Labels: map[string]string{}}
	for manager, labels := range wrote {
		var fields []string
		for name := range labels {
			fields = append(fields, fmt.Sprintf(`"f:%s":{}`, name))
		}
		maps.Copy(o.Labels, labels)
		o.ManagedFields = append(o.ManagedFields, metav1.ManagedFieldsEntry{
			Manager:  manager,
			FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:labels":{".":{},` + strings.Join(fields, ",") + `}}}`),
		})
	}
	slices.SortFunc(o.ManagedFields, func(a, b metav1.ManagedFieldsEntry) int { return strings.Compare(a.Manager, b.Manager) })
	return o
}

type labelsOf = map[string]map[string]string

func TestPlan(t *testing.T) {
	c500 := map[string]string{protocol.LabelInstalled: "true", protocol.LabelProduct: "C500"}
	for name, test := range map[string]struct {
		node    labelsOf
		want    map[string]string
		changes bool
		warns   int
	}{
		"a new node":                   {labelsOf{"kubelet": {"kubernetes.io/os": "linux"}}, c500, true, 0},
		"all is there":                 {labelsOf{protocol.Label: c500}, c500, false, 0},
		"a value has changed":          {labelsOf{protocol.Label: {protocol.LabelInstalled: "true", protocol.LabelProduct: "C550"}}, c500, true, 0},
		"a label is too many":          {labelsOf{protocol.Label: {protocol.LabelInstalled: "true", protocol.LabelProduct: "C500", protocol.LabelMemory: "64GB"}}, c500, true, 0},
		"someone's label is left":      {labelsOf{protocol.Label: c500, "kubectl-label": {"metax-tech.com/maca.ready": "true"}}, c500, false, 0},
		"someone wrote the same":       {labelsOf{"gpu-label": c500}, c500, true, 0},
		"someone wrote another":        {labelsOf{"gpu-label": {protocol.LabelProduct: "MXC500"}}, c500, true, 1},
		"the GPUs are gone":            {labelsOf{protocol.Label: c500}, map[string]string{protocol.LabelInstalled: "false"}, true, 0},
		"someone's stays without GPUs": {labelsOf{protocol.Label: {protocol.LabelInstalled: "false"}, "x": {protocol.LabelProduct: "C500"}}, map[string]string{protocol.LabelInstalled: "false"}, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			p := NewPlan(object(t, test.node), test.want, Written{})
			if diff := cmp.Diff(test.want, p.Apply); diff != "" || p.Changes != test.changes || len(p.Warnings) != test.warns {
				t.Errorf("changes %t, %q %s", p.Changes, p.Warnings, diff)
			}
		})
	}
}

// TestPlanEnds: another program that writes or removes the same label always gets it in the
// end, and this is said; the other labels stay.
func TestPlanEnds(t *testing.T) {
	want := map[string]string{protocol.LabelInstalled: "true", protocol.LabelProduct: "C500"}
	for name, other := range map[string]labelsOf{
		"writes":  {protocol.Label: {protocol.LabelInstalled: "true"}, "gpu-label": {protocol.LabelProduct: "MXC500"}},
		"removes": {protocol.Label: {protocol.LabelInstalled: "true"}},
	} {
		t.Run(name, func(t *testing.T) {
			var written Written
			var warnings []string
			var writes int
			for range 20 {
				p := NewPlan(object(t, other), want, written)
				if p.Changes {
					writes++
				}
				if p.Apply[protocol.LabelInstalled] != "true" {
					t.Fatalf("applies %v", p.Apply)
				}
				written = p.Written
				warnings = append(warnings, p.Warnings...)
			}
			if writes != Rewrites+1 {
				t.Errorf("wrote %d times, want %d", writes, Rewrites+1)
			}
			if last := warnings[len(warnings)-1]; !strings.Contains(last, "is left so now") || !strings.Contains(last, protocol.LabelProduct) {
				t.Errorf("the last warning is %q", last)
			}
			// A node that is added again is a new beginning, as is another value.
			again := object(t, other)
			again.UID = "2"
			if p := NewPlan(again, want, written); p.Apply[protocol.LabelProduct] != "C500" {
				t.Errorf("plan is %+v", p)
			}
			p := NewPlan(object(t, other), map[string]string{protocol.LabelInstalled: "true", protocol.LabelProduct: "C550"}, written)
			if !p.Changes || p.Apply[protocol.LabelProduct] != "C550" {
				t.Errorf("plan is %+v", p)
			}
		})
	}
}

// FuzzManagers: what strangers write into a node object is never more than a warning.
func FuzzManagers(f *testing.F) {
	f.Add([]byte(`{"f:metadata":{"f:labels":{"f:metax-tech.com/gpu.product":{}}}}`), "C500\x1b[2J")
	f.Add([]byte(`{"f:metadata":[]}`), "")
	f.Add([]byte(`null`), "C550")
	f.Fuzz(func(t *testing.T, fields []byte, value string) {
		o := metav1.ObjectMeta{
			Labels:        map[string]string{protocol.LabelProduct: value},
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: value, FieldsV1: metav1.NewFieldsV1(string(fields))}, {}},
		}
		p := NewPlan(o, map[string]string{protocol.LabelProduct: "C500"}, Written{})
		if p.Apply[protocol.LabelProduct] != "C500" || value != "C500" && !p.Changes {
			t.Errorf("plan is %+v", p)
		}
		for _, w := range p.Warnings {
			if strings.ContainsAny(w, "\n\x1b") {
				t.Errorf("warning %q", w)
			}
		}
	})
}
