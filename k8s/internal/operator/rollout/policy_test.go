// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/metax-ctk/container-toolkit/k8s/api/v1alpha1"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

func policyOf(t *testing.T, text string) (Policy, error) {
	t.Helper()
	var u *v1alpha1.DriverUpgradePolicy
	if err := yaml.UnmarshalStrict([]byte(text), &u); err != nil {
		t.Fatal(err)
	}
	return NewPolicy(u)
}

// TestVendorPolicy reads the policy of the vendor's object.
func TestVendorPolicy(t *testing.T) {
	text := testfile.Read(t, "../../../api/v1alpha1/testdata/vendor.yaml")
	var o v1alpha1.ClusterOperator
	if err := yaml.Unmarshal(text, &o); err != nil {
		t.Fatal(err)
	}
	got, err := NewPolicy(o.Spec.Driver.UpgradePolicy)
	want := Policy{Failures: 5, Parallel: Amount{100, true}, Unavailable: Amount{0, true}, Steps: []Step{{Amount{1, false}, 30 * time.Second}, {Amount{100, true}, 0}}}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("%v %s", err, d)
	}
}

func TestPolicy(t *testing.T) {
	got, err := policyOf(t, "{enableRollout: true, pause: true, maxParallel: 3, maxUnavailable: 25%, waitForCompletion: {timeoutSeconds: 60}, podDeletion: {enable: true, timeoutSeconds: 300}, drain: {enable: true, force: true}}")
	want := Policy{
		Enabled: true, Paused: true, Failures: 5, Parallel: Amount{N: 3}, Unavailable: Amount{25, true}, Wait: time.Minute,
		Deletion: Eviction{Enabled: true, Timeout: 5 * time.Minute}, Drain: Eviction{Enabled: true, Force: true},
	}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("%v %s", err, d)
	}
	if got, err := NewPolicy(nil); err != nil || got.Enabled || got.Unavailable.Of(9) != 0 || got.Parallel.Of(9) != 9 {
		t.Errorf("without a policy: %+v %v", got, err)
	}
	for text, want := range map[string]string{
		"{fallback: rollback}":                                       `fallback: "rollback" is not known; want pause`,
		"{maxFailureThreshold: 0}":                                   "maxFailureThreshold: 0 is not at least 1",
		"{maxParallel: 0}":                                           "maxParallel: 0 is not at least 1",
		"{maxParallel: 0%}":                                          "maxParallel: 0% is not at least 1",
		"{maxParallel: '5'}":                                         `maxParallel: "5" is not a number or a percentage`,
		"{maxUnavailable: 101%}":                                     "maxUnavailable: ",
		"{maxUnavailable: -1}":                                       "maxUnavailable: -1 is not at least 0",
		"{maxUnavailable: some}":                                     `maxUnavailable: "some"`,
		"{upgradeSteps: [{replicas: 1}, {replicas: x%}]}":            "upgradeSteps[1].replicas: ",
		"{upgradeSteps: [{replicas: 1, pauseDuration: -5}]}":         "upgradeSteps[0].pauseDuration: -5",
		"{drain: {timeoutSeconds: -1}}":                              "drain.timeoutSeconds",
		"{podDeletion: {timeoutSeconds: 9223372036854775807}}":       "podDeletion.timeoutSeconds",
		"{waitForCompletion: {timeoutSeconds: -1}, maxParallel: 0%}": "waitForCompletion.timeoutSeconds",
	} {
		if _, err := policyOf(t, text); err == nil || !strings.Contains(err.Error(), "driver.upgradePolicy."+want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestAmount(t *testing.T) {
	for _, test := range []struct {
		Amount
		nodes, want int
	}{
		{Amount{3, false}, 10, 3}, {Amount{0, true}, 10, 0}, {Amount{1, true}, 10, 1}, {Amount{25, true}, 10, 3}, {Amount{100, true}, 7, 7}, {Amount{50, true}, 0, 0},
	} {
		if got := test.Of(test.nodes); got != test.want {
			t.Errorf("%v of %d: %d, want %d", test.Amount, test.nodes, got, test.want)
		}
	}
}

// FuzzRecord: an annotation of a stranger is read without a panic, and what is read of it is
// read again.
func FuzzRecord(f *testing.F) {
	f.Add(`{"state":"drain","since":"2026-01-01T00:00:00Z","to":"a","cordoned":true,"why":"x"}`)
	f.Add(`{"state":"other"}`)
	f.Add(`{"state":"failed","turn":9223372036854775807,"why":"x\ny"}`)
	f.Add(`{"state":"failed","turn":1073741824,"why":"` + strings.Repeat("é", 400) + `"}`)
	f.Add(`{"state":"done","since":"9999-12-31T23:59:59.9+00:00"}`)
	f.Fuzz(func(t *testing.T, text string) {
		r := ParseRecord(text)
		if r.Turn < 0 || r.Turn+1 < r.Turn || len(r.Why) > 310 || strings.Contains(r.Why, "\n") {
			t.Errorf("%q: %+v", text, r)
		}
		if again := ParseRecord(r.String()); again.String() != r.String() {
			t.Errorf("%q: %v and then %v", text, r, again)
		}
	})
}
