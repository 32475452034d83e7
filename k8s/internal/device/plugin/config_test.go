// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/metax-ctk/container-toolkit/internal/health"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/allocations"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol/foreign"
)

// listing is a client of a test, whose watches do not begin with what there is.
type listing struct{ corev1client.CoreV1Interface }

func (listing) IsWatchListSemanticsUnSupported() bool { return true }

// TestWatchConfig follows a ConfigMap that is made, changed and deleted, and the labels of a
// Node.
func TestWatchConfig(t *testing.T) {
	set := fake.NewClientset(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}})
	client := listing{set.CoreV1()}
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	configs, nodes := make(chan string, 100), make(chan string, 100)
	all.Go(func() {
		WatchConfig(ctx, client, "ns", func(c protocol.DeviceConfig) {
			settings, problems := c.For("node", nil)
			text := fmt.Sprintf("%v%q", settings, problems)
			if len(c.Over) > 0 {
				text += fmt.Sprint(" over ", c.Over)
			}
			configs <- text
		})
	})
	all.Go(func() {
		WatchNode(ctx, client, "node", func(n *corev1.Node) { nodes <- fmt.Sprint(n.Annotations[foreign.LockAnnotation], " ", n.Labels) })
	})
	await := func(seen <-chan string, want string) {
		t.Helper()
		limit := time.After(time.Minute)
		for {
			select {
			case got := <-seen:
				if got == want {
					return
				}
			case <-limit:
				t.Fatalf("never saw %q", want)
			}
		}
	}
	await(configs, "{native 4}[]")
	await(nodes, " map[]")
	for watches := 0; watches < 3; time.Sleep(time.Millisecond) { // the fake API server does not tell a watch what was before it
		watches = 0
		for _, a := range set.Actions() {
			if a.GetVerb() == "watch" {
				watches++
			}
		}
	}
	m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: protocol.ConfigMapName, Namespace: "ns"}, Data: map[string]string{"cluster-config": "mode: shared"}}
	if _, err := client.ConfigMaps("ns").Create(ctx, m, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	await(configs, "{shared 4}[]")
	values := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: protocol.ValuesOf(protocol.ConfigMapName), Namespace: "ns"}, Data: map[string]string{"cluster-config": "mode: sgpu"}}
	if _, err := client.ConfigMaps("ns").Create(ctx, values, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	await(configs, "{shared 4}[] over [cluster-config]")
	m.Data["cluster-config"] = "mode: best"
	if _, err := client.ConfigMaps("ns").Update(ctx, m, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	await(configs, `{ 4}["cluster-config: mode \"best\" is not known; want native, sgpu, shared or vgpu"] over [cluster-config]`)
	if err := client.ConfigMaps("ns").Delete(ctx, m.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	await(configs, "{sgpu 4}[]")
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node", Labels: map[string]string{"pool": "b"}, Annotations: map[string]string{foreign.LockAnnotation: "x"}}}
	if _, err := client.Nodes().Update(ctx, n, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	await(nodes, "x map[pool:b]")
}

// TestSettle changes the mode of a node: at the start, while a pod has a GPU, and after it has
// ended.
func TestSettle(t *testing.T) {
	a, node := allocator(t, t.TempDir(), "boot", new(strings.Builder))
	log := slog.New(slog.DiscardHandler)
	r := &Resource{Server: &Server{Dir: t.TempDir(), Log: log}, Modes: []protocol.Mode{protocol.ModeNative, protocol.ModeShared}}
	var said Status
	agent := &Agent{
		Node:     &Node{Rules: health.DefaultRules, Allocator: a, Resources: []*Resource{r}, Log: log},
		NodeName: "node", Publish: func(s Status) { said = s },
	}
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	agent.seen = agent.See(node, health.FromNode(node), time.Now())
	agent.mode.labels = map[string]string{}
	settle := func(config, mode, blocked, invalid string, devices int) {
		t.Helper()
		c := protocol.ParseDeviceConfig(map[string]string{"cluster-config": config})
		agent.mode.config = &c
		agent.settle(ctx, &all)
		if got := fmt.Sprintf("%s%v", said.Mode, said.Invalid); got != mode+invalid || said.Blocked != blocked || len(said.Devices) != devices {
			t.Errorf("%s: %s, blocked %q, %d devices", config, got, said.Blocked, len(said.Devices))
		}
	}
	agent.settle(ctx, &all)
	if said.Mode != protocol.ModeNative || len(said.Devices) != 8 {
		t.Errorf("without an API server the mode is %q, with %d devices", said.Mode, len(said.Devices))
	}
	settle("mode: native", "native", "", "[]", 8)
	first := string(node.GPUs[0].UUID)
	if _, err := a.Allocate([]string{first}); err != nil {
		t.Fatal(err)
	}
	a.State.SetListed([]allocations.Listed{{Container: allocations.Container{Namespace: "team", Pod: "job", Name: "main"}, IDs: []string{first}}})
	settle("{mode: shared, shareNums: 2}", "native", "mode stays native, shared is configured: team/job (container main) has "+first, "[]", 8)
	settle("mode: best", "native", "", `[cluster-config: mode "best" is not known; want native, sgpu, shared or vgpu]`, 8)
	a.State.learn(func(v *nodeView) { v.record, v.listed = allocations.State{}, nil })
	settle("{mode: shared, shareNums: 2}", "shared", "", "[]", 16)
	if _, err := a.Allocate([]string{first}); err == nil || !strings.Contains(err.Error(), "is not a GPU of this node") {
		t.Errorf("a device of the mode before: %v", err)
	}
	if answer, err := a.Allocate([]string{first + "::1"}); err != nil || answer.Envs["METAX_GPU_UUIDS"] != first {
		t.Errorf("a share: %v, %v", answer, err)
	}
	// The kubelet is told that the devices of the mode before are unhealthy until they leave.
	list, _ := r.list()
	if len(list) != 24 {
		t.Errorf("%d devices are listed", len(list))
	}
	agent.Tell(time.Now().Add(HideAfter))
	if list, _ := r.list(); len(list) != 16 {
		t.Errorf("%d devices are listed later", len(list))
	}
}

// TestFirstConfiguration: a plugin that started while the API server was away has shares of
// GPUs in use, and does not know how many each GPU has. What is configured counts when it
// becomes known, and later changes wait.
func TestFirstConfiguration(t *testing.T) {
	a, node := allocator(t, t.TempDir(), "boot", new(strings.Builder))
	shared := func(n int) protocol.ModeSettings { return protocol.ModeSettings{Mode: protocol.ModeShared, Shares: n} }
	uses := func(id string) {
		a.State.SetListed([]allocations.Listed{{Container: allocations.Container{Namespace: "team", Pod: "job", Name: "main"}, IDs: []string{id}}})
	}
	uses(string(node.GPUs[0].UUID) + "::7")
	step := func(configured, want protocol.ModeSettings, waits bool) {
		t.Helper()
		if got, blocked := a.State.Switch(configured); got != want || (blocked != "") != waits {
			t.Errorf("configured %v: %v, blocked %q; want %v", configured, got, blocked, want)
		}
	}
	unknown := protocol.ModeSettings{Shares: protocol.DefaultShares}
	step(unknown, shared(protocol.DefaultShares), false)
	a.State.SetListed(nil)
	step(unknown, shared(protocol.DefaultShares), false) // it does not change while nobody says so
	uses(string(node.GPUs[0].UUID) + "::7")
	step(shared(8), shared(8), false)
	step(unknown, shared(8), false)
	step(shared(2), shared(8), true)
}
