// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"strings"
	"testing"
	"time"

	"k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"github.com/metax-ctk/container-toolkit/k8s/internal/device/inventory"
)

// show is "id" for a healthy device and "id!" for another, with its NUMA node if it has one.
func show(devices []*v1beta1.Device) string {
	var words []string
	for _, d := range devices {
		word := d.ID
		if d.Health != v1beta1.Healthy {
			word += "!"
		}
		if d.Topology != nil {
			word += "@" + string('0'+rune(d.Topology.Nodes[0].ID))
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

func TestList(t *testing.T) {
	zero, unknown := 0, -1
	devices := []inventory.Device{{ID: "a", Healthy: true, NUMA: &zero}, {ID: "b", Code: "vendor"}, {ID: "c", Healthy: true, NUMA: &unknown}}
	at := time.Unix(1000, 0)
	whole := List{}
	for _, now := range []time.Time{at, at.Add(HideAfter)} {
		if got := show(whole.Next(devices, now)); got != "a@0 b! c" {
			t.Errorf("all devices: %s", got)
		}
	}
	hiding := List{HideUnhealthy: true}
	for _, step := range []struct {
		after   time.Duration
		healthy bool
		want    string
	}{
		{0, false, "a@0 b! c"}, // the kubelet may be allocating it now
		{HideAfter - 1, false, "a@0 b! c"},
		{HideAfter, false, "a@0 c"},
		{HideAfter + 1, true, "a@0 b c"},
		{HideAfter + 2, false, "a@0 b! c"},
		{2*HideAfter + 2, false, "a@0 c"},
	} {
		devices[1].Healthy = step.healthy
		if got := show(hiding.Next(devices, at.Add(step.after))); got != step.want {
			t.Errorf("after %s: %s, want %s", step.after, got, step.want)
		}
	}
}
