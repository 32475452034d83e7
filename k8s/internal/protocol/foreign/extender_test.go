// SPDX-License-Identifier: Apache-2.0

package foreign

import (
	"encoding/json"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestExtenderArgs(t *testing.T) {
	odd := func(i int) bool { return i%2 == 1 }
	for name, c := range map[string]struct{ text, want string }{
		"names":                     {`{"Pod":{},"Nodes":null,"NodeNames":["a","b","c"]}`, `{"NodeNames":["b"]}`},
		"names, none":               {`{"Pod":{},"NodeNames":[]}`, `{"NodeNames":[]}`},
		"nodes":                     {`{"Pod":{},"Nodes":{"metadata":{},"items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"},"later":{"x":1}}]}}`, `{"Nodes":{"items":[{"metadata":{"name":"b"},"later":{"x":1}}]}}`},
		"nodes, none":               {`{"Pod":{},"Nodes":{"items":[]}}`, `{"Nodes":{"items":[]}}`},
		"neither":                   {`{"Pod":{}}`, `{}`},
		"no pod":                    {`{"NodeNames":["a"]}`, "invalid question of a scheduler: it has no pod"},
		"null":                      {`{"Pod":null,"NodeNames":["a"]}`, "invalid question of a scheduler: it has no pod"},
		"names, null":               {`{"Pod":{},"Nodes":{"items":[{"metadata":{"name":"a"}}, null]},"NodeNames":null}`, `{"Nodes":{"items":[null]}}`},
		"white space":               {" { \"Pod\" : { } , \"NodeNames\" : [ \"a\" , \"b\\u0020\" ] } ", `{"NodeNames":["b "]}`},
		"white space after a colon": {`{"Pod": {}, "X": 1, "Nodes": null, "NodeNames": ["a", "b"]}`, `{"NodeNames":["b"]}`},
		"escaped names":             {`{"P\u006fd":{},"NodeNames":["a","b"]}`, `{"NodeNames":["b"]}`},
		"a rest of NUL":             {"{\"Pod\":{}}\x00", "invalid question of a scheduler: it is not JSON"},
		"empty":                     {``, "invalid question of a scheduler: it is not JSON"},
		"a rest":                    {`{"Pod":{}}{}`, "invalid question of a scheduler: it is not JSON"},
		"another form":              {`[]`, "invalid question of a scheduler: want an object"},
		"not names":                 {`{"Pod":{},"NodeNames":"a"}`, "invalid question of a scheduler: NodeNames: want a list"},
		"not a name":                {`{"Pod":{},"NodeNames":[1]}`, "invalid question of a scheduler: NodeNames: want a string"},
		"a long name":               {`{"Pod":{},"NodeNames":["` + strings.Repeat("x", 254) + `"]}`, "invalid question of a scheduler: NodeNames: a name is longer than 253 bytes"},
		"many names":                {`{"Pod":{},"NodeNames":[` + strings.Repeat(`"a",`, 5000) + `"a"]}`, "invalid question of a scheduler: NodeNames: more than 5000 nodes"},
		"many nodes":                {`{"Pod":{},"Nodes":{"items":[` + strings.Repeat(`{},`, 5000) + `{}]}}`, "invalid question of a scheduler: Nodes: more than 5000 nodes"},
		"many containers":           {`{"Pod":{"spec":{"initContainers":[` + strings.Repeat(`{},`, 1000) + `{}]}}}`, "invalid question of a scheduler: Pod: spec: initContainers: more than 1000"},
		"not a node":                {`{"Pod":{},"Nodes":{"items":[1]}}`, "invalid question of a scheduler: Nodes: want an object"},
		"not a quantity":            {`{"Pod":{"spec":{"containers":[{"resources":{"limits":{"x":"y"}}}]}}}`, "invalid question of a scheduler: Pod: spec: containers: x: quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"},
		"a long quantity":           {`{"Pod":{"spec":{"containers":[{"resources":{"limits":{"x":"` + strings.Repeat("1", 33) + `"}}}]}}}`, "invalid question of a scheduler: Pod: spec: containers: x: a quantity is longer than 32 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			a, err := ParseExtenderArgs([]byte(c.text), "x")
			got := ""
			if err != nil {
				got = err.Error()
			} else {
				text, err := json.Marshal(a.Keep(odd))
				if err != nil {
					t.Fatal(err)
				}
				got = string(text)
			}
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// TestExtenderPod compares what is read of a pod with what encoding/json reads, and leaves the
// rest.
func TestExtenderPod(t *testing.T) {
	always := corev1.ContainerRestartPolicyAlways
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "n", Annotations: map[string]string{"a": "<\u00e9\n>", "other": "x"}, Labels: map[string]string{"l": "}]\\\""}}}
	gpus := func(text string) corev1.ResourceList {
		return corev1.ResourceList{"metax-tech.com/gpu": resource.MustParse(text), "cpu": resource.MustParse("1")}
	}
	pod.Spec.InitContainers = []corev1.Container{{Name: "side", RestartPolicy: &always, Resources: corev1.ResourceRequirements{Limits: gpus("1")}}, {Image: "i"}}
	pod.Spec.Containers = []corev1.Container{{Args: []string{"{", "\\"}, Resources: corev1.ResourceRequirements{Limits: gpus("2k"), Requests: gpus("2")}}, {}}
	text, err := json.Marshal(ExtenderArgs{Pod: pod, NodeNames: &[]string{"a"}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := ParseExtenderArgs(text, "metax-tech.com/gpu", "a", "absent")
	if err != nil {
		t.Fatal(err)
	}
	want := pod.DeepCopy()
	want.Labels = nil
	delete(want.Annotations, "other")
	for _, list := range [][]corev1.Container{want.Spec.InitContainers, want.Spec.Containers} {
		for i, c := range list {
			delete(c.Resources.Limits, "cpu")
			delete(c.Resources.Requests, "cpu")
			list[i] = corev1.Container{RestartPolicy: c.RestartPolicy, Resources: c.Resources}
		}
	}
	if d := cmp.Diff(want, got.Pod); d != "" {
		t.Error(d)
	}
}

// TestExtenderMemory: what is skipped or refused costs no memory.
func TestExtenderMemory(t *testing.T) {
	for name, text := range map[string]string{
		"containers": `{"Pod":{"spec":{"containers":[` + strings.Repeat("{},", 350_000) + `{}]}}}`,
		"volumes":    `{"Pod":{"spec":{"volumes":[` + strings.Repeat("{},", 350_000) + `{}]}},"NodeNames":["a"]}`,
		"numbers":    `{"x":[` + strings.Repeat("0,", 500_000) + `0],"Pod":{}}`,
		"a string":   `{"x":"` + strings.Repeat("\\n", 500_000) + `","Pod":{"metadata":{"annotations":{"b":"` + strings.Repeat("x", 1<<20) + `"}}}}`,
		"deep":       `{"x":` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + `,"Pod":{}}`,
	} {
		question := []byte(text)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := ParseExtenderArgs(question, "metax-tech.com/gpu", "a")
		runtime.ReadMemStats(&after)
		if (err != nil) != (name == "containers") {
			t.Errorf("%s: %v", name, err)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > 2<<20 {
			t.Errorf("%s: %d KiB for a question of %d KiB", name, used>>10, len(text)>>10)
		}
	}
}

func FuzzParseExtenderArgs(f *testing.F) {
	f.Add([]byte(`{"Pod":{"spec":{"containers":[{"resources":{"limits":{"metax-tech.com/gpu":"4"}}}]}},"NodeNames":["a","b"]}`))
	f.Add([]byte(`{"Pod":{},"Nodes":{"items":[{"metadata":{"name":"a"}}, null]}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		a, err := ParseExtenderArgs(text, "metax-tech.com/gpu", "a")
		if err != nil {
			if !errors.Is(err, ErrExtender) {
				t.Error(err)
			}
			return
		}
		all, err := json.Marshal(struct {
			Pod struct{}
			ExtenderFilterResult
		}{ExtenderFilterResult: a.Keep(func(int) bool { return true })})
		if err != nil {
			t.Fatal(err)
		}
		again, err := ParseExtenderArgs(all, "metax-tech.com/gpu", "a")
		if err != nil || !slices.Equal(a.Names(), again.Names()) {
			t.Errorf("%v became %v: %v", a.Names(), again.Names(), err)
		}
	})
}
