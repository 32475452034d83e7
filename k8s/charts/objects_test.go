// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"helm.sh/helm/v3/pkg/release"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// objects are the objects of a release and of its hooks, as Kind/name.
func objects(t *testing.T, r *release.Release) map[string]*unstructured.Unstructured {
	t.Helper()
	text := r.Manifest
	for _, hook := range r.Hooks {
		text += "\n---\n" + hook.Manifest
	}
	found := map[string]*unstructured.Unstructured{}
	for decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewBufferString(text), 4096); ; {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(&object.Object); errors.Is(err, io.EOF) {
			return found
		} else if err != nil {
			t.Fatal(err)
		}
		if object.Object != nil {
			found[object.GetKind()+"/"+object.GetName()] = object
		}
	}
}

// as is an object of a release, checked strictly against its type.
func as[T any](t *testing.T, all map[string]*unstructured.Unstructured, name string) T {
	t.Helper()
	var typed T
	object := all[name]
	if object == nil {
		t.Fatalf("the chart has no %s", name)
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, &typed, true); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return typed
}

func daemonset(t *testing.T, values, name string) appsv1.DaemonSet {
	t.Helper()
	return as[appsv1.DaemonSet](t, objects(t, mustRender(t, "1.34.4", values)), "DaemonSet/"+name)
}

// container is a container of a pod, also an init container.
func container(t *testing.T, pod corev1.PodSpec, name string) corev1.Container {
	t.Helper()
	for _, c := range append(pod.InitContainers, pod.Containers...) {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("the pod has no container %s", name)
	return corev1.Container{}
}

func toYAML(t *testing.T, v any) string {
	t.Helper()
	text, err := yaml.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
