// SPDX-License-Identifier: Apache-2.0

package label

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// Rewrites is how often a label that someone else has changed or removed is written again,
// before it is left to them. So a program that sets the same label cannot make this one write
// for ever, and a label that a person removed by mistake comes back.
const Rewrites = 3

// Written is what is known of the labels that were applied to a node object. Of the zero
// Written nothing is known.
type Written struct {
	node   types.UID
	labels map[string]writing // by name
}

type writing struct {
	value    string
	rewrites int // times that it was written again
}

// Plan is what to do with a node object.
type Plan struct {
	// Apply are all labels to apply, forced, under the name protocol.Label; a label under that
	// name that is not among them is removed by that.
	Apply map[string]string
	// Changes is false if the node object is already so.
	Changes bool
	// Written is what is known after Apply was successful.
	Written Written
	// Warnings are about labels that someone else wrote, one line each, when that begins.
	Warnings []string
}

// NewPlan compares the labels that a node should have with those of its object. Labels that
// another manager wrote are taken over, as those of an older program are; if it writes again,
// the label is left to it after Rewrites.
func NewPlan(node metav1.ObjectMeta, want map[string]string, before Written) Plan {
	managers := managersOf(node)
	p := Plan{Apply: map[string]string{}, Written: Written{node.UID, map[string]writing{}}}
	if before.node != node.UID { // the object was made anew, as a node that is added again
		before = Written{}
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		value := want[name]
		now, isThere := node.Labels[name]
		others := strings.Join(slices.DeleteFunc(slices.Clone(managers[name]), isOwn), ", ")
		isRight := isThere && now == value
		w := before.labels[name]
		isAgain := w.value == value
		if !isAgain {
			w = writing{value: value}
		}
		switch {
		case isRight: // it is there
		case isAgain && w.rewrites > Rewrites: // said before
			p.Written.labels[name] = w
			continue
		case isAgain && w.rewrites == Rewrites:
			w.rewrites++
			p.Written.labels[name] = w
			p.warn(name, "%s; it was written back %d times and is left so now", changed(isThere, now, value, others), Rewrites)
			continue
		case isAgain:
			w.rewrites++
			p.warn(name, "%s; it is written back", changed(isThere, now, value, others))
		case isThere && others != "":
			p.warn(name, "%s; it is replaced", changed(isThere, now, value, others))
		}
		p.Written.labels[name], p.Apply[name] = w, value
		p.Changes = p.Changes || !isRight || !slices.ContainsFunc(managers[name], isOwn)
	}
	for name, all := range managers {
		_, keep := p.Apply[name]
		p.Changes = p.Changes || (!keep && slices.ContainsFunc(all, isOwn))
	}
	return p
}

// Own returns the labels of a node object that were applied under the name protocol.Label.
func Own(node metav1.ObjectMeta) map[string]string {
	own := map[string]string{}
	for name, managers := range managersOf(node) {
		if value, ok := node.Labels[name]; ok && slices.ContainsFunc(managers, isOwn) {
			own[name] = value
		}
	}
	return own
}

func (p *Plan) warn(name, format string, a ...any) {
	p.Warnings = append(p.Warnings, "label "+name+" "+fmt.Sprintf(format, a...))
}

// changed says what someone else did to a label.
func changed(isThere bool, now, value, others string) string {
	if !isThere {
		return "was removed by someone else"
	}
	return fmt.Sprintf("has the value %.63q (written by %.80q) instead of %q", now, others, value)
}

func isOwn(manager string) bool { return manager == protocol.Label }

// managersOf returns who wrote each label of a node object, sorted. Entries that cannot be
// read are left out.
func managersOf(node metav1.ObjectMeta) map[string][]string {
	all := map[string][]string{}
	for _, entry := range node.ManagedFields {
		var fields struct {
			Metadata struct {
				Labels map[string]json.RawMessage `json:"f:labels"`
			} `json:"f:metadata"`
		}
		if entry.FieldsV1 == nil || json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields) != nil {
			continue
		}
		for field := range fields.Metadata.Labels {
			if name, ok := strings.CutPrefix(field, "f:"); ok && !slices.Contains(all[name], entry.Manager) {
				all[name] = append(all[name], entry.Manager)
			}
		}
	}
	for _, managers := range all {
		slices.Sort(managers)
	}
	return all
}
