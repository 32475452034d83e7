// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
	plugin "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	apiservercel "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"
	"sigs.k8s.io/yaml"

	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// objectMonitor is what the values of NVSentinel's chart have of its Kubernetes object
// monitor, as its documentation (docs/configuration/kubernetes-object-monitor.md) describes
// it.
type objectMonitor struct {
	Global struct {
		Monitor struct {
			Enabled bool `json:"enabled"`
		} `json:"kubernetesObjectMonitor"`
	} `json:"global"`
	Monitor struct {
		Policies []struct {
			Name      string                  `json:"name"`
			Enabled   bool                    `json:"enabled"`
			Resource  metav1.GroupVersionKind `json:"resource"`
			Predicate struct {
				Expression string `json:"expression"`
			} `json:"predicate"`
			HealthEvent struct {
				ComponentClass    string   `json:"componentClass"`
				IsFatal           bool     `json:"isFatal"`
				Message           string   `json:"message"`
				RecommendedAction string   `json:"recommendedAction"`
				ErrorCode         []string `json:"errorCode"`
			} `json:"healthEvent"`
		} `json:"policies"`
	} `json:"kubernetes-object-monitor"`
}

// TestNVSentinel: the values are of the monitor's form, and its predicates hold for a node
// with the condition.
func TestNVSentinel(t *testing.T) {
	var m objectMonitor
	if err := yaml.UnmarshalStrict([]byte(readText(t, "../handoff/nvsentinel.yaml")), &m); err != nil {
		t.Fatal(err)
	}
	fatal := map[string]bool{}
	for _, p := range m.Monitor.Policies {
		if (p.Resource != metav1.GroupVersionKind{Version: "v1", Kind: "Node"}) || !p.Enabled || p.HealthEvent.Message == "" || len(p.HealthEvent.ErrorCode) != 1 {
			t.Errorf("%+v", p)
		}
		for _, condition := range []string{protocol.LostCondition, protocol.UnhealthyCondition} {
			var got []bool
			for _, status := range []string{"True", "False", "Unknown"} {
				got = append(got, holds(t, p.Predicate.Expression, "{status: {conditions: [{type: Ready, status: 'True'}, {type: "+condition+", status: '"+status+"'}]}}"))
			}
			if got[0] {
				fatal[condition] = p.HealthEvent.IsFatal
			}
			if got[1] || got[2] {
				t.Errorf("%s holds for %s: %v", p.Name, condition, got)
			}
		}
	}
	if diff := cmp.Diff(map[string]bool{protocol.LostCondition: true, protocol.UnhealthyCondition: false}, fatal); diff != "" || !m.Global.Monitor.Enabled {
		t.Errorf("enabled %t %s", m.Global.Monitor.Enabled, diff)
	}
}

// holds evaluates a predicate, in which the object is "resource".
func holds(t *testing.T, predicate, of string) bool {
	t.Helper()
	compiler, err := plugin.NewCompositedCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
	if err != nil {
		t.Fatal(err)
	}
	condition := compiler.CompileCondition([]plugin.ExpressionAccessor{&validating.ValidationCondition{Expression: strings.ReplaceAll(predicate, "resource.", "object.")}},
		plugin.OptionalVariableDeclarations{}, environment.StoredExpressions)
	if errs := condition.CompilationErrors(); len(errs) != 0 {
		t.Fatal(errs)
	}
	attributes := &admission.VersionedAttributes{VersionedObject: admission.NewLazyObject(object(t, of))}
	results, _, err := condition.ForInput(context.Background(), attributes, &admissionv1.AdmissionRequest{}, plugin.OptionalVariableBindings{}, nil, apiservercel.RuntimeCELCostBudget)
	if err != nil || results[0].Error != nil {
		t.Fatal(err, results[0].Error)
	}
	return results[0].EvalResult.Value() == true
}

// TestNodeHealthCheck: the object is of the form of the CRD of Medik8s (api/v1alpha1), and
// about conditions and labels that there are.
func TestNodeHealthCheck(t *testing.T) {
	var check struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata"`
		Spec              struct {
			Selector            metav1.LabelSelector `json:"selector"`
			MinHealthy          string               `json:"minHealthy"`
			UnhealthyConditions []struct {
				Type     string          `json:"type"`
				Status   string          `json:"status"`
				Duration metav1.Duration `json:"duration"`
			} `json:"unhealthyConditions"`
			RemediationTemplate struct {
				APIVersion string `json:"apiVersion"`
				Kind       string `json:"kind"`
				Namespace  string `json:"namespace"`
				Name       string `json:"name"`
			} `json:"remediationTemplate"`
		} `json:"spec"`
	}
	if err := yaml.UnmarshalStrict([]byte(readText(t, "../handoff/nodehealthcheck.yaml")), &check); err != nil {
		t.Fatal(err)
	}
	c := check.Spec.UnhealthyConditions
	if check.APIVersion != "remediation.medik8s.io/v1alpha1" || check.Kind != "NodeHealthCheck" || len(c) != 1 || c[0].Type != protocol.LostCondition ||
		c[0].Status != "True" || c[0].Duration.Duration < time.Minute || check.Spec.Selector.MatchLabels[protocol.LabelInstalled] != "true" || check.Spec.MinHealthy != "51%" {
		t.Errorf("%+v", check)
	}
}
