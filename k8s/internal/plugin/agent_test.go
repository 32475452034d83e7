package plugin

import (
	"log/slog"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/metax-ctk/container-toolkit/k8s/internal/allocate"
)

// TestChooseForm reads the versions of kubelet and engine where they matter.
func TestChooseForm(t *testing.T) {
	cluster := func(engine string) corev1client.CoreV1Interface {
		return fake.NewClientset(&corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: "node"},
			Status:     corev1.NodeStatus{NodeInfo: corev1.NodeSystemInfo{KubeletVersion: "v1.34.4", ContainerRuntimeVersion: engine}},
		}).CoreV1()
	}
	for _, test := range []struct {
		strategy allocate.Strategy
		client   corev1client.CoreV1Interface
		want     bool
	}{
		{allocate.Auto, cluster("containerd://2.1.9"), true},
		{allocate.Auto, cluster("containerd://1.7.28"), false},
		{allocate.Auto, nil, false},
		{allocate.CDI, nil, true},
		{allocate.DeviceSpecs, cluster("containerd://2.1.9"), false},
	} {
		a, _ := allocator(t, t.TempDir(), "boot", new(strings.Builder))
		a.SetCDI(!test.want)
		agent := Agent{Node: &Node{Allocator: a, Log: slog.New(slog.DiscardHandler)}, NodeName: "node", Strategy: test.strategy, Client: test.client}
		known := make(chan struct{})
		agent.chooseForm(t.Context(), known)
		<-known
		if a.cdi != test.want {
			t.Errorf("%s: CDI is %t", test.strategy, a.cdi)
		}
	}
}
