// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metax-ctk/container-toolkit/internal/wording"
	"github.com/metax-ctk/container-toolkit/k8s/api/v1alpha1"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
	"github.com/metax-ctk/container-toolkit/k8s/internal/report"
)

// Input is what a plan is made from.
type Input struct {
	Operator *v1alpha1.ClusterOperator
	Nodes    Nodes
	// Rendered are the DaemonSets of all components for the spec, by their names. They are
	// changed.
	Rendered map[string]*appsv1.DaemonSet
	// Invalid is why there are none.
	Invalid error
	// Looks are what pods with a GPU have shown.
	Looks Looks
	// Present are the DaemonSets of the operator in the cluster, by their names.
	Present map[string]*appsv1.DaemonSet
	// Stuck is why pods of DaemonSets cannot start, by the names of the DaemonSets.
	Stuck map[string][]string
	// Upgrades reports whether the controller may upgrade drivers.
	Upgrades bool
	// Configs are the data of ConfigMaps that people edit and of those with the chart's
	// values, by their names; one that does not exist has none.
	Configs map[string]map[string]string
}

// Plan is what is to be done.
type Plan struct {
	Apply  []*appsv1.DaemonSet
	Delete []string // names of DaemonSets
	// Open and Shut are the nodes that metax-container-runtime is let on to, and is no longer.
	Open, Shut []string
	Status     v1alpha1.ClusterOperatorStatus
}

// The reasons of conditions.
const (
	Deployed    = "Deployed"
	Progressing = "Progressing"
	Host        = report.Host   // what the nodes have is used
	Validated   = "Validated"   // all nodes can give their GPUs to containers
	NoGPUNode   = "NoGPUNode"   // nothing to do
	NotBuilt    = "NotBuilt"    // this version cannot do it
	Incomplete  = "Incomplete"  // nodes lack something
	Invalid     = "Invalid"     // the spec has a mistake
	Paused      = "Paused"      // nothing is changed
	Minimal     = "MinimalMode" // left out
	Refused     = "Refused"     // the API server did not take it
	// NotPermitted is a part that the controller has no rights for.
	NotPermitted = "NotPermitted"
)

// Ready is the condition that sums up all others.
const Ready = "Ready"

// outcome is what one state says. Without a condition type the component is off.
type outcome struct {
	metav1.Condition
	set  *appsv1.DaemonSet // what is deployed; nil is nothing
	keep string            // name of a DaemonSet that stays as it is
	// missing are the nodes, with reasons, on which the DaemonSet has not done what is
	// requested.
	missing []string
	// wait is what a component that is deployed still waits for, fault what of it nodes lack.
	wait, fault string
	open, shut  []string // of Plan
	aside       bool     // Ready does not depend on it
}

func conditionOutcome(kind string, ok bool, reason, message string, args ...any) outcome {
	status := metav1.ConditionFalse
	if ok {
		status = metav1.ConditionTrue
	}
	return outcome{Condition: metav1.Condition{
		Type: kind, Status: status, Reason: reason,
		Message: fmt.Sprintf(message, args...),
	}}
}

// states are all components, in the order in which a node goes through them.
var states = []func(Input) outcome{
	labelState, runtimeState, driverState, upgradeState, macaState, macaSet("MACADeployed", protocol.MACA, "MXC"),
	macaSet("MACANDeployed", protocol.MACAN, "MXN"),
	vfState, vfioState, deviceState, validationState, exporterState, unbuiltState, understoodState, editedState,
	askedState,
}

// Decide returns what is to be done. It reads no clock: a condition keeps its time unless it
// changes, and a new one has none.
func Decide(in Input) Plan {
	o := in.Operator
	plan := Plan{Status: v1alpha1.ClusterOperatorStatus{
		ObservedGeneration: o.Generation, GPUNodes: in.Nodes.GPU,
		DriverUpgrade: o.Status.DriverUpgrade,
	}}
	var conditions, aside []metav1.Condition
	requested := map[string]bool{}
	for _, state := range states {
		out := state(in)
		plan.Open, plan.Shut = append(plan.Open, out.open...), append(plan.Shut, out.shut...)
		if out.set != nil {
			out = plan.deploy(in, out)
			requested[out.set.Name] = true
		}
		requested[out.keep] = true
		switch {
		case out.aside:
			aside = append(aside, out.Condition)
		case out.Type != "":
			conditions = append(conditions, out.Condition)
		}
	}
	for name := range in.Present {
		if !requested[name] {
			plan.Delete = append(plan.Delete, name)
		}
	}
	slices.Sort(plan.Delete)
	if in.Invalid != nil || o.Spec.Paused {
		plan.Apply, plan.Delete, plan.Open, plan.Shut = nil, nil, nil, nil
	}
	plan.Status.Conditions = dated(o, slices.Concat([]metav1.Condition{summary(in, conditions, aside)}, conditions, aside))
	return plan
}

// deploy plans the DaemonSet of an outcome, and says how far it is.
func (p *Plan) deploy(in Input, out outcome) outcome {
	set := out.set
	adoptDaemonSet(set, in.Operator)
	present := in.Present[set.Name]
	if !isCurrent(set, present) {
		p.Apply = append(p.Apply, set)
	}
	progress := conditionOutcome(out.Type, false, Progressing, "%s is being deployed", set.Name)
	if present != nil {
		s := present.Status
		counts := fmt.Sprintf("%s is ready on %d of %d nodes", set.Name, s.NumberReady, s.DesiredNumberScheduled)
		if s.ObservedGeneration < present.Generation || s.NumberReady < s.DesiredNumberScheduled ||
			s.UpdatedNumberScheduled < s.DesiredNumberScheduled {
			progress = conditionOutcome(out.Type, false, Progressing,
				"%s (kubectl get pods -n %s -l app.kubernetes.io/name=%s -o wide)", counts, set.Namespace, set.Name)
		} else {
			progress = conditionOutcome(out.Type, true, Deployed, "%s", counts)
		}
	}
	if n := len(out.missing); n > 0 && present != nil {
		progress = conditionOutcome(out.Type, false, Incomplete, "not as requested on %d of %d nodes with a GPU: %s", n,
			in.Nodes.GPU, wording.Some(out.missing, mostNames))
	} else if out.Status == metav1.ConditionFalse { // whatever its pods are
		progress.Status, progress.Reason = out.Status, out.Reason
	}
	if progress.Status == metav1.ConditionTrue {
		switch {
		case out.fault != "":
			progress.Status, progress.Reason = metav1.ConditionFalse, Incomplete
		case out.wait != "":
			progress.Status, progress.Reason = metav1.ConditionFalse, Progressing
		}
	}
	stuck := ""
	if progress.Status == metav1.ConditionFalse && len(in.Stuck[set.Name]) > 0 {
		stuck = wording.Some(in.Stuck[set.Name], mostNames)
	}
	for _, more := range []string{stuck, out.Message, out.wait, out.fault} {
		if more != "" {
			progress.Message += "; " + more
		}
	}
	progress.set = set
	return progress
}

// summary is the condition Ready. It depends on conditions, and tells what ConfigUnderstood
// among the others says.
func summary(in Input, conditions, aside []metav1.Condition) metav1.Condition {
	switch {
	case in.Operator.Spec.Paused:
		return conditionOutcome(Ready, false, Paused, "nothing is changed while spec.paused is true").Condition
	case in.Invalid != nil:
		return conditionOutcome(Ready, false, Invalid, "nothing is changed: %v", in.Invalid).Condition
	}
	var bad []string
	reason := Deployed
	for _, c := range conditions {
		if c.Status == metav1.ConditionFalse {
			bad = append(bad, c.Type)
			if reason == Deployed || reason == Progressing { // which passes by itself
				reason = c.Reason
			}
		}
	}
	more := ""
	if c := meta.FindStatusCondition(aside, ConfigUnderstood); c != nil && c.Status == metav1.ConditionFalse {
		more = "; " + c.Message
	}
	switch {
	case len(bad) > 0:
		return conditionOutcome(Ready, false, reason, "not as requested: %s%s", strings.Join(bad, ", "), more).Condition
	case in.Nodes.GPU == 0:
		return conditionOutcome(Ready, true, NoGPUNode, "no node has a MetaX GPU%s", more).Condition
	case more != "":
		return conditionOutcome(Ready, true, Deployed, "all components are deployed%s", more).Condition
	}
	return conditionOutcome(Ready, true, Deployed, "all components are as requested").Condition
}

// Fail says that the plan could not be carried out.
func (p *Plan) Fail(o *v1alpha1.ClusterOperator, err error) {
	p.Status.Conditions[0] = dated(o, []metav1.Condition{conditionOutcome(Ready, false, Refused, "%v", err).Condition})[0]
}

const (
	// mostText is how many bytes the message of a condition has at most: what nodes report is
	// in it, and the API server takes 32 KiB.
	mostText = 8 << 10
	// mostNames is how many nodes or pods a message names.
	mostNames = 3
)

// dated gives conditions their times: that of the same condition before, if its status is the
// same.
func dated(o *v1alpha1.ClusterOperator, conditions []metav1.Condition) []metav1.Condition {
	for i := range conditions {
		c := &conditions[i]
		c.ObservedGeneration = o.Generation
		c.Message = wording.Short(c.Message, mostText)
		if before := meta.FindStatusCondition(o.Status.Conditions, c.Type); before != nil && before.Status == c.Status {
			c.LastTransitionTime = before.LastTransitionTime
		}
	}
	return conditions
}
