package bugreport

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol/foreign"
)

// learnForms keeps annotations, by what they were, with stand-ins.
func (s scrubber) learnForms(forms map[string]string) {
	for _, was := range slices.Sorted(maps.Keys(forms)) {
		s.values[was] = s.Text(forms[was])
	}
}

// nodeForms returns the annotations of a Node that have their form, as this program would write them.
func nodeForms(annotations map[string]string) map[string]string {
	forms := map[string]string{}
	text := annotations[protocol.NodeAnnotation]
	t, err := protocol.ParseNodeTopology(text)
	if err == nil {
		forms[text] = t.String()
		text = annotations[protocol.StateAnnotation]
		if state, err := protocol.ParseNodeState(text, len(t.GPUs)); err == nil {
			forms[text] = state.String()
		}
	}
	for _, key := range []string{protocol.ScoresAnnotation, protocol.LossesAnnotation} {
		if table, err := protocol.ParseTable(key, annotations[key]); err == nil {
			forms[annotations[key]] = table.String()
		}
	}
	return forms
}

// podForms is nodeForms for the slices of a pod.
func podForms(annotations map[string]string) map[string]string {
	text := annotations[foreign.SlicesAnnotation]
	lists, err := foreign.ParseSlices(text)
	if err != nil {
		return nil
	}
	form, err := json.Marshal(lists)
	if err != nil {
		return nil
	}
	return map[string]string{text: string(form)}
}
