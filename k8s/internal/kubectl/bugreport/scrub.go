// SPDX-License-Identifier: Apache-2.0

package bugreport

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metax-ctk/container-toolkit/internal/snapshot/scrub"
	"github.com/metax-ctk/container-toolkit/k8s/internal/objects"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// The classes of names that only a cluster has.
const (
	nodeName  scrub.Class = "node"
	podName   scrub.Class = "pod"
	namespace scrub.Class = "namespace"
)

// scrubber makes the objects of a report.
type scrubber struct {
	*scrub.Scrubber
	// values are annotations of a known form, with stand-ins for UUIDs.
	values map[string]string
}

// newScrubber returns one that knows the names in the objects, also where they are part of a
// text. Annotations of a known form come first: a name such as "model" must not replace their
// members.
func newScrubber(o objects.Objects) scrubber {
	s := scrubber{scrub.New(), map[string]string{}}
	for i := range o.Nodes {
		s.learnForms(o.Nodes[i].Annotations)
	}
	for i := range o.Nodes { // stand-ins are numbered in the order in which they are first used
		s.Learn(nodeName, s.learned(nodeName, o.Nodes[i].Name))
		for _, a := range o.Nodes[i].Status.Addresses {
			if a.Type == corev1.NodeHostName || a.Type == corev1.NodeInternalDNS || a.Type == corev1.NodeExternalDNS {
				s.Learn(scrub.Host, a.Address)
			}
		}
	}
	for i := range o.Pods {
		p := &o.Pods[i]
		s.Learn(podName, s.learned(podName, p.Name))
		if !isPublic(p.Namespace) {
			s.Learn(namespace, p.Namespace)
		}
		for _, c := range slices.Concat(p.Spec.InitContainers, p.Spec.Containers) {
			if objects.IsProgram(p) {
				registry, _ := strings.CutSuffix(c.Image, image(c.Image))
				s.Learn(scrub.Image, strings.TrimSuffix(registry, "/"))
				continue
			}
			s.Learn(scrub.Name, c.Name)
			s.Learn(scrub.Image, c.Image)
		}
	}
	return s
}

// learnForms keeps annotations that have their form, as this program would write them, with
// stand-ins.
func (s scrubber) learnForms(annotations map[string]string) {
	learn := func(key string, form func(text string) (string, error)) {
		text := annotations[key]
		if known, err := form(text); err == nil {
			s.values[text] = s.Text(known)
		}
	}
	gpus := 0
	learn(protocol.NodeAnnotation, func(text string) (string, error) {
		t, err := protocol.ParseNodeTopology(text)
		gpus = len(t.GPUs)
		return t.String(), err
	})
	learn(protocol.StateAnnotation, func(text string) (string, error) {
		state, err := protocol.ParseNodeState(text, gpus)
		return state.String(), err
	})
	for _, key := range []string{protocol.ScoresAnnotation, protocol.LossesAnnotation} {
		learn(key, func(text string) (string, error) {
			table, err := protocol.ParseTable(key, text)
			return table.String(), err
		})
	}
}

// learned gives a name its stand-in, and returns the name.
func (s scrubber) learned(class scrub.Class, name string) string {
	s.Word(class, name)
	return name
}

// isPublic reports whether a namespace has a name that everybody knows.
func isPublic(name string) bool {
	return name == "" || name == metav1.NamespaceDefault || name == protocol.Namespace || strings.HasPrefix(name, "kube-")
}

func (s scrubber) scrubNamespace(name string) string {
	if isPublic(name) {
		return name
	}
	return s.Word(namespace, name)
}

// scrubAnnotations returns those with the keys.
func (s scrubber) scrubAnnotations(all map[string]string, keys ...string) map[string]string {
	kept := map[string]string{}
	for key, v := range selectKeys(all, keys...) {
		form, ok := s.values[v]
		if !ok {
			form = s.Text(v)
		}
		kept[key] = form
	}
	return kept
}

// selectKeys returns those of the values whose keys are listed.
func selectKeys(values map[string]string, keys ...string) map[string]string {
	kept := map[string]string{}
	for _, key := range keys {
		if v, ok := values[key]; ok {
			kept[key] = v
		}
	}
	return kept
}

// schedulingResources returns those of GPUs, and those by which every scheduler judges.
func schedulingResources(list corev1.ResourceList) corev1.ResourceList {
	kept := corev1.ResourceList{}
	for name, q := range list {
		if strings.HasPrefix(string(name), protocol.LabelPrefix) || name == corev1.ResourceCPU ||
			name == corev1.ResourceMemory || name == corev1.ResourcePods {
			kept[name] = q
		}
	}
	return kept
}

// scrubNodeSelector returns a selector of Nodes. Keys of Kubernetes and of MetaX are kept;
// those of others are replaced, as names are.
func (s scrubber) scrubNodeSelector(values map[string]string) map[string]string {
	kept := map[string]string{}
	for key, v := range values {
		if !isKnownKey(key) {
			key = s.Word("label", key)
		}
		kept[key] = s.Text(v)
		if key == corev1.LabelHostname {
			kept[key] = s.Word(nodeName, v)
		}
	}
	return kept
}

func isKnownKey(key string) bool {
	domain, _, _ := strings.Cut(key, "/")
	return domain+"/" == protocol.LabelPrefix || domain == "kubernetes.io" || strings.HasSuffix(domain, ".kubernetes.io")
}

// image returns the last part of the name of an image, without the registry.
func image(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }
