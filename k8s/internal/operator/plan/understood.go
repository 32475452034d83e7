// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/wording"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// The conditions about the ConfigMaps that people edit, and their reasons. Ready does not
// depend on them: an entry may be for a node that has not joined.
const (
	ConfigUnderstood = "ConfigUnderstood"
	ValuesApplied    = "ValuesApplied"
	// SchedulerAsks is False while a scheduler places pods without asking metax-gpu-aware;
	// otherwise there is no such condition.
	SchedulerAsks = "SchedulerAsks"

	Understood    = "Understood"
	NotUnderstood = "NotUnderstood" // a ConfigMap has a mistake, or names a node that there is not
	Pending       = "Pending"       // a change waits until GPUs are idle
	Edited        = "Edited"        // a ConfigMap holds instead of the chart's values
	NotAsked      = "NotAsked"
)

// EditedConfigMaps are the names of the ConfigMaps that people edit, in the order in which
// conditions tell of them.
var EditedConfigMaps = []string{protocol.DriverConfigMap, protocol.VFIOConfigMap, protocol.ConfigMapName}

// understoodState says what of the ConfigMaps is not applied.
func understoodState(in Input) outcome {
	var mistakes []string
	for _, name := range EditedConfigMaps {
		var wrong, names []string
		switch data := in.effectiveConfig(name); name {
		case protocol.DriverConfigMap:
			c := protocol.ParseVFNums(data)
			wrong, names = append(c.Problems(), c.Notes()...), c.Names()
		case protocol.VFIOConfigMap:
			c := protocol.ParseVFIOGPUs(data)
			wrong, names = append(c.Problems(), c.Notes()...), c.Names()
		case protocol.ConfigMapName:
			c := protocol.ParseDeviceConfig(data)
			wrong, names = c.Problems(), c.Names()
		}
		if unknown := in.unknownNodes(names); len(unknown) > 0 {
			quoted := make([]string, len(unknown))
			for i, n := range unknown {
				quoted[i] = fmt.Sprintf("%.80q", n)
			}
			wrong = append(wrong, "no node is named "+wording.Some(quoted, mostNames))
		}
		if len(wrong) > 0 {
			mistakes = append(mistakes, fmt.Sprintf("ConfigMap %s: %s", name, strings.Join(wrong, "; ")))
		}
	}
	out := conditionOutcome(ConfigUnderstood, true, Understood, "every entry of the ConfigMaps is understood")
	all := append(slices.Clone(mistakes), in.Nodes.Pending...)
	switch {
	case len(mistakes) > 0:
		out = conditionOutcome(ConfigUnderstood, false, NotUnderstood, "%s", strings.Join(all, "; "))
	case len(all) > 0:
		out = conditionOutcome(ConfigUnderstood, false, Pending, "%s", strings.Join(all, "; "))
	}
	out.aside = true
	return out
}

// editedState says which of the chart's values do not hold, because a ConfigMap holds instead.
func editedState(in Input) outcome {
	var all []string
	for _, name := range EditedConfigMaps {
		_, over := protocol.Edit(in.Configs[protocol.ValuesOf(name)], in.Configs[name])
		if text := protocol.Overrides(name, over); text != "" {
			all = append(all, text)
		}
	}
	if len(all) == 0 {
		return outcome{}
	}
	out := conditionOutcome(ValuesApplied, false, Edited, "%s", strings.Join(all, "; "))
	out.aside = true
	return out
}

// askedState says which schedulers do not ask metax-gpu-aware.
func askedState(in Input) outcome {
	var silent []string
	schedulers := protocol.ParseAsked(in.Configs[protocol.AskedConfigMap])
	for _, name := range slices.Sorted(maps.Keys(schedulers)) {
		if s := schedulers[name]; s.IsSilent() {
			silent = append(silent,
				fmt.Sprintf("%.63s placed pod %s at %s without a question", name, s.Pod, s.Unasked.UTC().Format(time.RFC3339)))
		}
	}
	if len(silent) == 0 {
		return outcome{}
	}
	out := conditionOutcome(SchedulerAsks, false, NotAsked,
		"metax-gpu-aware is not asked (docs/kubernetes-schedulers.md): %s", wording.Some(silent, mostNames))
	out.aside = true
	return out
}
