// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metax-ctk/container-toolkit/k8s/api/v1alpha1"
)

// TestDriverUpgrade has what the status says of upgrades, and the condition.
func TestDriverUpgrade(t *testing.T) {
	const driver = "driver: {deployPolicy: PreferHost, payload: {version: '1'}, upgradePolicy: {enableRollout: true}}"
	status := &v1alpha1.DriverUpgradeStatus{Reason: "Progressing", Message: "1 of 2 nodes", Nodes: []v1alpha1.DriverUpgradeNode{{Name: "a", Turn: 1}}}
	for _, test := range []struct {
		what, spec string
		upgrades   bool
		status     *v1alpha1.DriverUpgradeStatus
		want       string
	}{
		{"under way", "{" + driver + "}", true, status, "False Progressing: 1 of 2 nodes"},
		{"nothing yet", "{" + driver + "}", true, nil, ""},
		{"no rights", "{" + driver + "}", false, nil, "False NotPermitted: helm upgrade --reuse-values --set driver.deployPolicy=PreferHost"},
		{"no rights, not requested", "{driver: {deployPolicy: PreferHost, payload: {version: '1'}}}", false, nil, ""},
		{"no rights, no driver", "{minimalMode: true, " + driver + "}", false, nil, ""},
	} {
		o := object(t, test.spec)
		o.Status.DriverUpgrade = test.status
		p := Decide(Input{Operator: o, Nodes: Nodes{GPU: 2}, Rendered: map[string]*appsv1.DaemonSet{}, Upgrades: test.upgrades})
		got := ""
		for _, c := range p.Status.Conditions {
			if c.Type == "DriverUpgrade" {
				got = string(c.Status) + " " + c.Reason + ": " + c.Message
			}
		}
		state, text, _ := strings.Cut(test.want, ": ")
		if !strings.HasPrefix(got, state) || !strings.Contains(got, text) || test.want == "" && got != "" {
			t.Errorf("%s: %q, want %q", test.what, got, test.want)
		}
		if d := cmp.Diff(test.status, p.Status.DriverUpgrade); d != "" {
			t.Errorf("%s: the rest of the status is not kept:\n%s", test.what, d)
		}
	}
}

// TestRevision: the pods of a DaemonSet that is replaced by hand know their template and what
// of it decides about the driver, and only those.
func TestRevision(t *testing.T) {
	type version struct{ revision, template string }
	of := func(strategy appsv1.DaemonSetUpdateStrategyType, payload, image, label string, args ...string) version {
		set := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{"x": label}}}
		set.Spec.UpdateStrategy.Type = strategy
		set.Spec.Template.Spec.InitContainers = []corev1.Container{{Name: "program", Image: image}, {Name: "payload", Image: payload}}
		set.Spec.Template.Spec.Containers = []corev1.Container{{Image: image, Args: args}}
		read := func() version {
			a := set.Spec.Template.Annotations
			return version{a[RevisionAnnotation], a[TemplateAnnotation]}
		}
		adoptDaemonSet(set, object(t, "{}"))
		before := read()
		adoptDaemonSet(set, object(t, "{}"))
		if again := read(); again != before {
			t.Errorf("%v and then %v", before, again)
		}
		return before
	}
	const onDelete = appsv1.OnDeleteDaemonSetStrategyType
	a := of(onDelete, "p:1", "i:1", "1")
	for _, test := range []struct {
		what             string
		version          version
		another, renewed bool
	}{
		{"a label of the DaemonSet", of(onDelete, "p:1", "i:1", "2"), false, false},
		{"the program", of(onDelete, "p:1", "i:2", "1"), false, true},
		{"the level of the log", of(onDelete, "p:1", "i:1", "1", "--log-level=debug"), false, true},
		{"the payload", of(onDelete, "p:2", "i:1", "1"), true, true},
		{"the policy", of(onDelete, "p:1", "i:1", "1", "--prefer-host"), true, true},
	} {
		if b := test.version; b.revision == "" || b.template == "" || (b.revision != a.revision) != test.another || (b.template != a.template) != test.renewed {
			t.Errorf("%s: %v, before %v", test.what, b, a)
		}
	}
	if got := of(appsv1.RollingUpdateDaemonSetStrategyType, "p:1", "i:1", "1"); got != (version{}) {
		t.Errorf("a set that is updated by itself has the revision %v", got)
	}
}
