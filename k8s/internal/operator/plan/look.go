// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metax-ctk/container-toolkit/internal/terminal"
	"github.com/metax-ctk/container-toolkit/internal/wording"
	"github.com/metax-ctk/container-toolkit/k8s/api/v1alpha1"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// Looks is what the looks have shown: pods of a few seconds that ask for one GPU of a node and
// try to open it. A look that gets no GPU waits until one is free, behind every other pod.
type Looks struct {
	Create []*corev1.Pod
	Delete []string      // names of pods
	Again  time.Duration // when to decide again, 0 for no time
	Shown  int           // nodes where a container got a GPU
	Failed []string      // "NODE: WHY (POD)" where it did not, sorted
}

// lookAgain is the time after which a look that failed is repeated.
const lookAgain = time.Minute

// DecideLooks returns which pods are to look, and what those have shown that are there, which
// are all with the label app.kubernetes.io/name=protocol.Look. A node is looked at once it is
// validated as ready, and again when it was not meanwhile, or when its driver or the device
// plugin is another one. While nothing in the cluster is changed, the pods that are there
// stay.
func DecideLooks(in Input, present []*corev1.Pod, now time.Time) (l Looks) {
	requested := map[string]*corev1.Pod{}
	frozen := in.Invalid != nil || in.Operator.Spec.Paused
	if device := in.Rendered[protocol.Device]; !frozen && device != nil &&
		Validates(in.Operator.Spec, in.Rendered[protocol.Label]) {
		for node, driver := range in.Nodes.Ready {
			pod := look(device, in.Operator, node, driver)
			requested[pod.Name] = pod
		}
	}
	for _, pod := range present {
		node, ok := pod.Annotations[lookNode], frozen || requested[pod.Name] != nil
		delete(requested, pod.Name)
		switch {
		case !ok:
			l.Delete = append(l.Delete, pod.Name)
		case pod.Status.Phase == corev1.PodSucceeded:
			l.Shown++
		case pod.Status.Phase == corev1.PodFailed:
			l.Failed = append(l.Failed, fmt.Sprintf("%s: %s (pod %s)", node, why(pod), pod.Name))
			rest := lookAgain - now.Sub(pod.CreationTimestamp.Time)
			if frozen {
				continue
			}
			if rest <= 0 {
				l.Delete = append(l.Delete, pod.Name)
			} else if l.Again == 0 || rest < l.Again {
				l.Again = rest
			}
		}
	}
	for _, pod := range requested {
		l.Create = append(l.Create, pod)
	}
	slices.SortFunc(l.Create, func(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	slices.Sort(l.Delete)
	slices.Sort(l.Failed)
	return l
}

// lookNode is an annotation of a look: the node that it looks at.
const lookNode = "metax-ctk.io/node"

// look is the pod that looks at a node, with the program, the place and the secrets of the
// device plugin.
func look(device *appsv1.DaemonSet, o *v1alpha1.ClusterOperator, node, driver string) *corev1.Pod {
	plugin := device.Spec.Template.Spec
	program := plugin.Containers[0]
	no, yes := false, true
	one := func(memory string) corev1.ResourceList {
		return corev1.ResourceList{
			protocol.Resource:     resource.MustParse("1"),
			corev1.ResourceMemory: resource.MustParse(memory),
		}
	}
	id := sha256.Sum256([]byte(strings.Join([]string{node, driver, program.Image}, "\x00")))
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("%s-%x", protocol.Look, id[:6]), Namespace: device.Namespace,
			Labels: map[string]string{
				"app.kubernetes.io/name":       protocol.Look,
				"app.kubernetes.io/managed-by": protocol.Operator,
			},
			Annotations: map[string]string{lookNode: node},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: v1alpha1.GroupVersion.String(), Kind: "ClusterOperator", Name: o.Name, UID: o.UID, Controller: &yes,
			}},
		},
		Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever, AutomountServiceAccountToken: &no,
			PriorityClassName: protocol.Look, ImagePullSecrets: plugin.ImagePullSecrets, SecurityContext: plugin.SecurityContext,
			Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
			Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
					NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{
						{Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{node}},
					}}},
				},
			}},
			Containers: []corev1.Container{{
				Name: "look", Image: program.Image, ImagePullPolicy: program.ImagePullPolicy,
				Command: []string{"/" + protocol.Device}, Args: []string{"look", "--gpus=1"},
				SecurityContext:          program.SecurityContext,
				Resources:                corev1.ResourceRequirements{Requests: one("16Mi"), Limits: one("128Mi")},
				Env:                      []corev1.EnvVar{{Name: "GOMEMLIMIT", Value: "115MiB"}},
				TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
			}},
		},
	}
}

// mostWhy is the length of the longest reason that a look has.
const mostWhy = 300

// why is why a look failed: the last line of what it said, in one clean line, as it may be the
// text of another program.
func why(pod *corev1.Pod) string {
	text := pod.Status.Message
	for _, c := range pod.Status.ContainerStatuses {
		if c.State.Terminated != nil && c.State.Terminated.Message != "" {
			text = c.State.Terminated.Message
		}
	}
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return wording.Short(terminal.Message(lines[len(lines)-1]), mostWhy)
}
