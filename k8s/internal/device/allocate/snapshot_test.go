// SPDX-License-Identifier: Apache-2.0

package allocate

import (
	"fmt"
	"strings"
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/health"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/inventory"
	"github.com/metax-ctk/container-toolkit/test/simtest"
)

// simulated returns a simulated node and its devices. Of the GPUs in bad the vendor's software
// says that they are broken.
func simulated(t testing.TB, name string, bad ...int) (gpu.Node, []inventory.Device) {
	t.Helper()
	node := simtest.Node(t, name)
	for _, i := range bad {
		node.GPUs[i].Healthy = false
	}
	return node, devices(node)
}

func devices(node gpu.Node) []inventory.Device {
	state, _ := health.State{}.Next(health.FromNode(node), health.DefaultRules)
	all, _ := inventory.Devices(node, state, inventory.Options{})
	return all
}

// ids returns the IDs of devices by their places: "0 3".
func ids(devices []inventory.Device, places string) []string {
	list := []string{}
	for _, word := range strings.Fields(places) {
		var at int
		fmt.Sscan(word, &at)
		list = append(list, devices[at].ID)
	}
	return list
}

// places is the reverse of ids; an ID that no device has stays as it is.
func places(devices []inventory.Device, ids []string) string {
	var words []string
	for _, id := range ids {
		word := id
		for i, d := range devices {
			if d.ID == id {
				word = fmt.Sprint(i)
			}
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}
