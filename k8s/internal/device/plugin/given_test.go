// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"errors"
	"log/slog"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/allocate"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol/foreign"
)

// TestTeller writes what is new, once, and tries again what failed while the other pods are
// told.
func TestTeller(t *testing.T) {
	client := fake.NewClientset(pod("a", 1, corev1.PodRunning, map[string]string{protocol.GivenAnnotation: "a lie"}, 2), pod("b", 1, corev1.PodRunning, nil, 1))
	refused := true
	client.PrependReactor("patch", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		name := action.(clienttesting.PatchAction).GetName()
		return name == "a" && refused || action.GetSubresource() != "status", nil, errors.New("refused")
	})
	var logged strings.Builder
	told := teller{client: client.CoreV1(), log: slog.New(slog.NewTextHandler(&logged, nil))}
	given := func(name string, gpus ...gpu.UUID) allocate.Given {
		return allocate.Given{UID: "uid-" + name, Namespace: "team", Pod: name, GPUs: gpus, Indices: []int{0, 1}[:min(2, len(gpus))]}
	}
	all := []allocate.Given{given("a", "GPU-1", "GPU-2"), given("b", "GPU-3"), given("gone", "GPU-4")}
	for range 2 {
		if err := told.tell(t.Context(), all); err == nil {
			t.Error("a refusal is no failure")
		}
	}
	if got := strings.Count(logged.String(), "refused"); got != 1 {
		t.Errorf("the failure is logged %d times:\n%s", got, &logged)
	}
	refused, told.kunlunxin = false, true
	client.ClearActions()
	for range 2 {
		if err := told.tell(t.Context(), all); err != nil {
			t.Error(err)
		}
	}
	if n := len(client.Actions()); n != 1 {
		t.Errorf("%d writes, want 1: %v", n, client.Actions())
	}
	if p, err := client.CoreV1().Pods("team").Get(t.Context(), "a", metav1.GetOptions{}); err != nil || p.Annotations[foreign.KunlunxinDevices] != "0,1" {
		t.Errorf("%v, %v", p.Annotations, err)
	}
	for name, want := range map[string]string{"a": "GPU-1,GPU-2", "b": "GPU-3"} {
		p, err := client.CoreV1().Pods("team").Get(t.Context(), name, metav1.GetOptions{})
		if err != nil || p.Annotations[protocol.GivenAnnotation] != want {
			t.Errorf("%s: %q, %v; want %q", name, p.Annotations[protocol.GivenAnnotation], err, want)
		}
	}
}

// TestKunlunxin tells a container the indices of its GPUs if the setting says so, with and
// without CDI.
func TestKunlunxin(t *testing.T) {
	for _, cdi := range []bool{true, false} {
		for _, on := range []bool{true, false} {
			a, node := allocator(t, t.TempDir(), "boot", new(strings.Builder))
			a.State.Kunlunxin = on
			a.State.SetCDI(cdi)
			answer, err := a.Allocate([]string{string(node.GPUs[5].UUID), string(node.GPUs[3].UUID)})
			if err != nil {
				t.Fatal(err)
			}
			if got, has := answer.Envs[foreign.KunlunxinDevices]; has != on || on && got != "3,5" {
				t.Errorf("CDI %t, setting %t: %q", cdi, on, answer.Envs)
			}
		}
	}
}
