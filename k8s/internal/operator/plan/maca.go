// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/metax-ctk/container-toolkit/internal/wording"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
	"github.com/metax-ctk/container-toolkit/k8s/internal/report"
)

// payload begins the name of an init container that runs in a payload image.
const payload = "payload-"

var card = regexp.MustCompile(`(?:^|[-_.])(?:mx)?([cn])[0-9]{3}`)

// familyOf returns the family of the cards for which an image has MXMACA, by the name of the
// image, such as maca-c500, mxc500-maca or maca-n100: a value of the label gpu.family. An
// image that names no card, such as maca, is for all: "".
func familyOf(image string) string {
	name := image[strings.LastIndexByte(image, '/')+1:]
	name, _, _ = strings.Cut(name, "@")
	name, _, _ = strings.Cut(name, ":")
	found := card.FindStringSubmatch(strings.ToLower(name))
	if found == nil {
		return ""
	}
	return "MX" + strings.ToUpper(found[1])
}

// macaSet deploys the agent that installs MXMACA on the nodes of a family, with the images of
// that family, where there are both.
func macaSet(kind, name, family string) func(Input) outcome {
	return func(in Input) outcome {
		set := in.Rendered[name]
		if set == nil || in.Operator.Spec.MinimalMode || in.Nodes.Families[family] == 0 {
			return outcome{}
		}
		others := func(image string) bool { of := familyOf(image); return of != "" && of != family }
		pod := &set.Spec.Template.Spec
		pod.InitContainers = slices.DeleteFunc(pod.InitContainers, func(c corev1.Container) bool {
			return strings.HasPrefix(c.Name, payload) && others(c.Image)
		})
		if !slices.ContainsFunc(pod.InitContainers,
			func(c corev1.Container) bool { return strings.HasPrefix(c.Name, payload) }) {
			return outcome{}
		}
		prepare := &pod.InitContainers[0]
		prepare.Args = slices.DeleteFunc(prepare.Args, func(arg string) bool {
			image, ok := strings.CutPrefix(arg, "--image=")
			return ok && others(image)
		})
		return componentOutcome(in, kind, name, in.Operator.Spec.MACA.Component)
	}
}

// macaState counts the nodes that have the configured MXMACA.
func macaState(in Input) outcome {
	const kind = "MACAReady"
	spec := in.Operator.Spec.MACA
	switch {
	case in.Operator.Spec.MinimalMode:
		return outcome{}
	case len(spec.Payload.Images) == 0:
		return conditionOutcome(kind, true, Host, "containers get the MXMACA of their image, or that of the node")
	case in.Nodes.GPU == 0:
		return conditionOutcome(kind, true, NoGPUNode, "no node has the label %s=true", protocol.LabelInstalled)
	}
	var families []string // that some image is for
	for _, image := range spec.Payload.Images {
		families = append(families, familyOf(image))
	}
	var wanted int32
	for family, n := range in.Nodes.Families {
		if slices.Contains(families, family) || slices.Contains(families, "") {
			wanted += n
		}
	}
	reports := in.Nodes.Reports[report.MACA]
	if list := in.Nodes.notReady(report.MACA); len(list) > 0 {
		reason := Incomplete
		if !slices.ContainsFunc(list, func(s string) bool { return !strings.HasSuffix(s, "(Pulling)") }) {
			reason = Progressing
		}
		return conditionOutcome(kind, false, reason, "%d of %d nodes do not have the configured MXMACA: %s", len(list),
			wanted, wording.Some(list, mostNames))
	}
	if n := int32(len(reports)); n < wanted {
		return conditionOutcome(kind, false, Progressing, "%d of %d nodes have the configured MXMACA", n, wanted)
	}
	if wanted < in.Nodes.GPU {
		return conditionOutcome(kind, false, Incomplete,
			"no image of maca.payload.images is for the GPUs of %d of %d nodes (label %s)",
			in.Nodes.GPU-wanted, in.Nodes.GPU, protocol.LabelFamily)
	}
	return conditionOutcome(kind, true, Deployed, "%[1]d of %[1]d nodes have the configured MXMACA", wanted)
}
