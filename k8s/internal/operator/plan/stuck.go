// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metax-ctk/container-toolkit/internal/terminal"
	"github.com/metax-ctk/container-toolkit/internal/wording"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// Components are the names of the DaemonSets that the operator deploys, which their pods have
// as the label app.kubernetes.io/name.
var Components = []string{
	protocol.Label, protocol.Device, protocol.Exporter, protocol.Runtime, protocol.Driver, protocol.MACA, protocol.MACAN,
	protocol.VFManager, protocol.VFIOManager,
}

// Stuck returns why pods of the components cannot start, by the names of their DaemonSets,
// sorted: the image, the node and the kubelet's words.
func Stuck(pods []corev1.Pod) map[string][]string {
	stuck := map[string][]string{}
	for i := range pods {
		p := &pods[i]
		owner := metav1.GetControllerOfNoCopy(p)
		if owner == nil || owner.Kind != "DaemonSet" || !slices.Contains(Components, owner.Name) {
			continue
		}
		for _, c := range p.Status.ContainerStatuses {
			if w := c.State.Waiting; w != nil && w.Message != "" {
				words := wording.Short(terminal.Line(w.Message), 300) // those of a registry are among them
				stuck[owner.Name] = append(stuck[owner.Name],
					fmt.Sprintf("%s on %s: %s: %s", terminal.Line(c.Image), p.Spec.NodeName, w.Reason, words))
			}
		}
	}
	for _, list := range stuck {
		slices.Sort(list)
	}
	return stuck
}
