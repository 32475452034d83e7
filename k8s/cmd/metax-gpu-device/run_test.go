// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/health"
	"github.com/metax-ctk/container-toolkit/internal/sim"
	"github.com/metax-ctk/container-toolkit/k8s/internal/reader"
	"github.com/metax-ctk/container-toolkit/test/simtest"
)

// kubelet is a kubelet that registers one plugin and follows its list.
type kubelet struct {
	v1beta1.UnimplementedRegistrationServer
	dir    string
	plugin chan v1beta1.DevicePluginClient
}

func startKubelet(t *testing.T, dir string) *kubelet {
	t.Helper()
	k := &kubelet{dir: dir, plugin: make(chan v1beta1.DevicePluginClient, 1)}
	listener, err := net.Listen("unix", filepath.Join(dir, "kubelet.sock"))
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	v1beta1.RegisterRegistrationServer(server, k)
	go server.Serve(listener)
	t.Cleanup(server.Stop)
	return k
}

func (k *kubelet) Register(_ context.Context, r *v1beta1.RegisterRequest) (*v1beta1.Empty, error) {
	conn, err := grpc.NewClient("unix://"+filepath.Join(k.dir, r.Endpoint), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err == nil {
		k.plugin <- v1beta1.NewDevicePluginClient(conn)
	}
	return &v1beta1.Empty{}, err
}

// reports are those of a reader of GPU health.
type reports struct {
	mu     sync.Mutex
	n      int
	report reader.Report
	newer  chan struct{}
}

// set states which GPUs are broken.
func (r *reports) set(node gpu.Node, bad ...int) {
	node.GPUs = slices.Clone(node.GPUs)
	for _, i := range bad {
		node.GPUs[i].Healthy = false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.n++
	r.report = reader.Report{Token: fmt.Sprint(r.n), At: time.Now(), Node: node, Look: health.FromNode(node)}
	if r.newer != nil {
		close(r.newer)
	}
	r.newer = make(chan struct{})
}

func (r *reports) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	r.mu.Lock()
	report, newer := r.report, r.newer
	r.mu.Unlock()
	if q.FormValue("after") == report.Token {
		select {
		case <-newer:
			r.mu.Lock()
			report = r.report
			r.mu.Unlock()
		case <-q.Context().Done():
			return
		}
	}
	json.NewEncoder(w).Encode(report)
}

// buffer is a log that can be read while it is written.
type buffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.String()
}

// TestRun runs the program without an API server, without a kubelet that lists the devices of
// pods, and without MXMACA.
func TestRun(t *testing.T) {
	for _, test := range []struct {
		strategy string
		cdi      bool
	}{{"auto", false}, {"cdi", true}, {"device-specs", false}} {
		t.Run(test.strategy, func(t *testing.T) {
			dir, err := os.MkdirTemp("", "run") // the path of a socket has to be short
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.RemoveAll(dir) })
			node := simtest.Node(t, "c500-8")
			tree, err := sim.HostTree(node)
			if err == nil {
				err = tree.WriteInert(filepath.Join(dir, "host"))
			}
			if err != nil {
				t.Fatal(err)
			}
			health := new(reports)
			health.set(node)
			listener, err := net.Listen("unix", filepath.Join(dir, "health.sock"))
			if err != nil {
				t.Fatal(err)
			}
			server := &http.Server{Handler: health}
			go server.Serve(listener)
			t.Cleanup(func() { server.Close() })
			k := startKubelet(t, dir)

			var log buffer
			program := app()
			program.Writer = &log
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() {
				done <- program.RunContext(ctx, []string{
					"metax-gpu-device", "--node-name", "node", "--root", filepath.Join(dir, "host"), "--engine-root", "/tree",
					"--health-socket", filepath.Join(dir, "health.sock"), "--kubelet-dir", dir, "--podresources-socket", filepath.Join(dir, "none.sock"),
					"--state-dir", filepath.Join(dir, "state", "k8s"), "--kubeconfig", filepath.Join(dir, "none"), "--metrics-address", "", "--log-dir", "",
					"--device-list-strategy", test.strategy, "--koordlet-dir", filepath.Join(dir, "koordlet"),
				})
			}()
			defer func() {
				cancel()
				if err := <-done; err != nil {
					t.Error(err)
				}
				if left, _ := filepath.Glob(filepath.Join(dir, "metax-*.sock")); len(left) > 0 {
					t.Errorf("sockets are left: %v", left)
				}
				if t.Failed() {
					t.Log(log.String())
				}
			}()
			plugin := <-k.plugin
			stream, err := plugin.ListAndWatch(ctx, &v1beta1.Empty{})
			if err != nil {
				t.Fatal(err)
			}
			await := func(want string) {
				t.Helper()
				list, err := stream.Recv()
				if err != nil {
					t.Fatal(err)
				}
				got := ""
				for _, d := range list.Devices {
					got += d.Health[:1]
				}
				if got != want {
					t.Errorf("the health of GPUs is %s, want %s", got, want)
				}
			}
			await("HHHHHHHH")
			if text, err := os.ReadFile(filepath.Join(dir, "koordlet", "metax-gpu-device.json")); err != nil || strings.Count(string(text), `"healthy": true`) != 8 {
				t.Errorf("the file for koordlet: %v, %s", err, text)
			}
			health.set(node, 3)
			await("HHHUHHHH")
			ids := []string{string(node.GPUs[1].UUID), string(node.GPUs[0].UUID)}
			answer, err := plugin.Allocate(ctx, &v1beta1.AllocateRequest{ContainerRequests: []*v1beta1.ContainerAllocateRequest{{DevicesIds: ids}}})
			if err != nil {
				t.Fatal(err)
			}
			got := answer.ContainerResponses[0]
			if (len(got.CdiDevices) == 2) != test.cdi || (len(got.Devices) > 0) == test.cdi {
				t.Errorf("CDI names: %v, devices: %v", got.CdiDevices, got.Devices)
			}
			for _, d := range got.Devices {
				if !strings.HasPrefix(d.HostPath, "/tree/dev/") || !strings.HasPrefix(d.ContainerPath, "/dev/") {
					t.Errorf("device %s at %s", d.HostPath, d.ContainerPath)
				}
			}
			if diff := cmp.Diff("0,1", got.Envs["METAX_GPU_INDICES"]); diff != "" {
				t.Error(diff)
			}
			ids = []string{string(node.GPUs[3].UUID)}
			if _, err := plugin.Allocate(ctx, &v1beta1.AllocateRequest{ContainerRequests: []*v1beta1.ContainerAllocateRequest{{DevicesIds: ids}}}); err == nil || !strings.Contains(err.Error(), "GPU 3 ("+ids[0]) {
				t.Errorf("the broken GPU: %v", err)
			}
		})
	}
}

func TestFlags(t *testing.T) {
	for args, want := range map[string]string{
		"":                            "--node-name is missing",
		"--node-name n --policy best": `policy "best" is not known`,
		"--node-name n --maca yes":    `"yes" is not a setting for MXMACA`,
		"--node-name n --device-list-strategy envvar": `device list strategy "envvar" is not known`,
		"--node-name n --good-looks 0":                "--good-looks",
		"--node-name n --healthy-interval -1":         "--healthy-interval",
		"--node-name n --resource gpu/of/metax":       "--resource",
		"run --node-name n --log-level loud":          "log-level",
	} {
		program := app()
		program.Writer, program.ErrWriter = new(buffer), new(buffer)
		err := program.RunContext(t.Context(), append([]string{"metax-gpu-device"}, strings.Fields(args)...))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", args, err, want)
		}
	}
}
