package operator

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
		{"no rights, not wished", "{driver: {deployPolicy: PreferHost, payload: {version: '1'}}}", false, nil, ""},
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

// TestRevision: the pods of a DaemonSet that is replaced by hand know their template, and only those.
func TestRevision(t *testing.T) {
	revision := func(strategy appsv1.DaemonSetUpdateStrategyType, image, label string) string {
		set := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{"x": label}}}
		set.Spec.UpdateStrategy.Type = strategy
		set.Spec.Template.Spec.Containers = []corev1.Container{{Image: image}}
		own(set, object(t, "{}"))
		before := set.Spec.Template.Annotations[RevisionAnnotation]
		own(set, object(t, "{}"))
		if again := set.Spec.Template.Annotations[RevisionAnnotation]; again != before {
			t.Errorf("%s and then %s", before, again)
		}
		return before
	}
	a, b := revision(appsv1.OnDeleteDaemonSetStrategyType, "i:1", "1"), revision(appsv1.OnDeleteDaemonSetStrategyType, "i:2", "1")
	if a == "" || a == b || a != revision(appsv1.OnDeleteDaemonSetStrategyType, "i:1", "2") {
		t.Errorf("%q and %q", a, b)
	}
	if got := revision(appsv1.RollingUpdateDaemonSetStrategyType, "i:1", "1"); got != "" {
		t.Errorf("a set that is updated by itself has the revision %s", got)
	}
}
