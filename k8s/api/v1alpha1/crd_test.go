// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdvalidation "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/version"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"
	"sigs.k8s.io/yaml"

	"github.com/metax-ctk/container-toolkit/test/testfile"
)

const crdFile = "../../charts/metax-operator/crds/clusteroperators.yaml"

// TestGenerated compares the definition in the chart and the copying code with the types.
// CONTRIBUTING.md has the command that writes them.
func TestGenerated(t *testing.T) {
	dir := t.TempDir()
	command := exec.Command("go", "tool", "-modfile=../../../tools/go.mod", "controller-gen", "object", "crd", "paths=.", "output:dir="+dir)
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for made, have := range map[string]string{
		"gpu.metax-tech.com_clusteroperators.yaml": crdFile,
		"zz_generated.deepcopy.go":                 "zz_generated.deepcopy.go",
	} {
		if d := cmp.Diff(read(t, filepath.Join(dir, made)), read(t, have)); d != "" {
			t.Errorf("%s is out of date:\n%s", have, d)
		}
	}
}

// TestObjects has objects, and why an API server refuses them.
func TestObjects(t *testing.T) {
	const head = "{apiVersion: gpu.metax-tech.com/v1alpha1, kind: ClusterOperator, metadata: {name: cluster-operator}, spec: "
	const digest = "@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	const policy = head + "{driver: {deployPolicy: Never, upgradePolicy: "
	check := checker(t)
	for _, test := range []struct{ object, want string }{
		{read(t, "testdata/vendor.yaml"), ""},
		{head + "{}}", ""},
		{head + "{minimalMode: true, devicePlugin: {healthyInterval: 0}}}", ""},
		{strings.ReplaceAll(head, "cluster-operator", "other") + "{}}", "its name must be cluster-operator"},
		{head + "{driver: {}}}", "payload.version must be given unless deployPolicy is Never"},
		{head + "{driver: {deployPolicy: PreferHost, payload: {name: a}}}}", "payload.version must be given"},
		{head + "{driver: {deployPolicy: IfNotPresent, payload: {version: ''}}}}", "payload.version must be given"},
		{head + "{driver: {deployPolicy: Never}}}", ""},
		{head + "{driver: {deployPolicy: IfNotPresent, payload: {version: 3.7.0.23-amd64}}}}", ""},
		{head + "{driver: {deployPolicy: Always, payload: {version: '1'}}}}", ""},
		{head + "{driver: {deployPolicy: IfNotExist, payload: {version: '1'}}}}", ""},
		{head + "{driver: {deployPolicy: Sometimes, payload: {version: '1'}}}}", "Unsupported value"},
		{policy + "{enableRollout: true, maxParallel: 3, maxUnavailable: 25%, upgradeSteps: [{replicas: 1, pauseDuration: 5}, {replicas: 100%}], podDeletion: {enable: true, timeoutSeconds: 300}}}}}", ""},
		{policy + "{maxUnavailable: 0, maxParallel: 100%, fallback: pause}}}}", ""},
		{policy + "{maxUnavailable: -1}}}}", "want a number from 0 or a percentage"},
		{policy + "{maxUnavailable: 101%}}}}", "want a number from 0 or a percentage"},
		{policy + "{maxUnavailable: '5'}}}}", "want a number from 0 or a percentage"},
		{policy + "{maxParallel: 0}}}}", "want a number from 1 or a percentage"},
		{policy + "{maxParallel: 0%}}}}", "want a number from 1 or a percentage"},
		{policy + "{maxFailureThreshold: 0}}}}", "maxFailureThreshold"},
		{policy + "{fallback: rollback}}}}", "Unsupported value"},
		{policy + "{upgradeSteps: [{replicas: some}]}}}}", `should match '^(100|[1-9][0-9]?)%$'`},
		{policy + "{upgradeSteps: [{replicas: 0}]}}}}", "want a number from 1 or a percentage"},
		{policy + "{upgradeSteps: [{replicas: 0%}]}}}}", "should match"},
		{policy + "{upgradeSteps: [{replicas: 1, pauseDuration: -1}]}}}}", "pauseDuration"},
		{policy + "{drain: {timeoutSeconds: -1}}}}}", "timeoutSeconds"},
		{head + "{maca: {payload: {images: [maca]}}}}", "an image needs a tag or a digest"},
		{head + "{maca: {payload: {images: ['hub.example.com:5000/maca']}}}}", "an image needs a tag or a digest"},
		{head + "{maca: {payload: {images: ['hub.example.com:5000/maca:3.8', 'maca" + digest + "']}}}}", ""},
		{head + "{devicePlugin: {healthyInterval: -1}}}", "healthyInterval"},
		{head + "{labelgen: {log: {level: loud}}}}", "Unsupported value"},
		{head + "{labelgen: {log: {maxAge: 3}}}}", "maxAge"},
	} {
		if got := check(test.object); test.want == "" && got != "" || !strings.Contains(got, test.want) {
			t.Errorf("%s\ngot %q, want %q", test.object, got, test.want)
		}
	}
}

// compile compiles the rules of a schema as Kubernetes 1.26 does, which knows fewer functions.
func compile(t *testing.T, at string, s *schema.Structural) {
	t.Helper()
	results, err := cel.Compile(s, model.SchemaDeclType(s, at == ""), celconfig.PerCallLimit, environment.MustBaseEnvSet(version.MajorMinor(1, 26)), cel.NewExpressionsEnvLoader())
	if err != nil {
		t.Errorf("%s: %v", at, err)
	}
	for _, r := range results {
		if r.Error != nil {
			t.Errorf("%s: %v", at, r.Error)
		}
	}
	for name, property := range s.Properties {
		compile(t, at+"."+name, &property)
	}
	if s.Items != nil {
		compile(t, at+"[]", s.Items)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Structural != nil {
		compile(t, at+"{}", s.AdditionalProperties.Structural)
	}
}

// checker returns what an API server does with an object by the definition: it fails the test
// if a field is lost, and returns why the object is refused.
func checker(t *testing.T) func(string) string {
	t.Helper()
	var v1 apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict([]byte(read(t, crdFile)), &v1); err != nil {
		t.Fatal(err)
	}
	apiextensionsv1.SetDefaults_CustomResourceDefinition(&v1)
	apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&v1.Spec)
	var crd apiextensions.CustomResourceDefinition
	if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(&v1, &crd, nil); err != nil {
		t.Fatal(err)
	}
	crd.Status.StoredVersions = []string{GroupVersion.Version}
	if errs := crdvalidation.ValidateCustomResourceDefinition(t.Context(), &crd); len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	props := crd.Spec.Validation
	if props == nil {
		props = crd.Spec.Versions[0].Schema
	}
	structural, err := schema.NewStructural(props.OpenAPIV3Schema)
	if err != nil {
		t.Fatal(err)
	}
	validator, _, err := validation.NewSchemaValidator(props.OpenAPIV3Schema)
	if err != nil {
		t.Fatal(err)
	}
	compile(t, "", structural)
	rules := cel.NewValidator(structural, true, celconfig.PerCallLimit)
	return func(text string) string {
		t.Helper()
		data, err := yaml.YAMLToJSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		var object map[string]any
		if err := json.Unmarshal(data, &object); err != nil { // with int64, as an API server has numbers
			t.Fatal(err)
		}
		whole := runtime.DeepCopyJSON(object)
		pruning.Prune(object, structural, true)
		if d := cmp.Diff(whole, object); d != "" {
			t.Errorf("fields are lost:\n%s", d)
		}
		errs := validation.ValidateCustomResource(nil, object, validator)
		more, _ := rules.Validate(t.Context(), nil, structural, object, nil, celconfig.RuntimeCELCostBudget)
		if errs = append(errs, more...); len(errs) > 0 {
			return errs.ToAggregate().Error()
		}
		return ""
	}
}

// TestVendor reads the vendor's object by the types.
func TestVendor(t *testing.T) {
	var o ClusterOperator
	if err := yaml.Unmarshal([]byte(read(t, "testdata/vendor.yaml")), &o); err != nil {
		t.Fatal(err)
	}
	if o.Spec.Driver.DeployPolicy != "PreferCloud" || o.Spec.Driver.Payload.Version != "2.29.0.13" || len(o.Spec.MACA.Payload.Images) != 2 ||
		*o.Spec.DevicePlugin.HealthyInterval != 5 || *o.Spec.DataExporter.Deploy || o.Spec.Labelgen.Log.Dir != "/var/log/metax" {
		t.Errorf("%+v", o.Spec)
	}
	if !cmp.Equal(&o, o.DeepCopy()) {
		t.Error("the copy differs")
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text := testfile.Read(t, path)
	return string(bytes.TrimPrefix(text, []byte("---\n")))
}
