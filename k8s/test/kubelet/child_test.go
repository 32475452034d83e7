// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/holders/podresources"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/allocations"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/plugin"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// childVariable makes the test binary a device plugin, so that a test can kill it.
const childVariable = "KUBELET_TEST_PLUGIN"

// child is what such a plugin is told.
type child struct {
	Kubelet, PodResources string // the kubelet's directory and socket
	Root, Record          string
	Node                  gpu.Node
	// Bad is a file with the indices of GPUs that are broken, in JSON.
	Bad string
	// Dies is the call in which the plugin is killed, empty for none.
	Dies string
}

// The calls in which a plugin can be killed.
const (
	inPreferred = "GetPreferredAllocation"
	inAllocate  = "Allocate"
	inRecorded  = "Allocate, when it has recorded its answer"
	inPreStart  = "PreStartContainer"
)

// mortal is a Backend whose process is killed in a call.
type mortal struct {
	plugin.Backend
	dies string
}

func (m mortal) in(call string) {
	if m.dies == call {
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
}

func (m mortal) Preferred(available, required []string, n int) []string {
	m.in(inPreferred)
	return m.Backend.Preferred(available, required, n)
}

func (m mortal) Allocate(ids []string) (*v1beta1.ContainerAllocateResponse, error) {
	m.in(inAllocate)
	answer, err := m.Backend.Allocate(ids)
	m.in(inRecorded)
	return answer, err
}

func (m mortal) PreStart(ids []string) error {
	m.in(inPreStart)
	return m.Backend.PreStart(ids)
}

func TestMain(m *testing.M) {
	text, ok := os.LookupEnv(childVariable)
	if !ok {
		os.Exit(m.Run())
	}
	if err := runChild(text); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// runChild serves until SIGTERM.
func runChild(text string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	var c child
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return err
	}
	root, err := hostfs.New(c.Root)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	a := &plugin.Allocator{Root: root, State: &plugin.NodeState{Log: log, Store: allocations.Store{Path: c.Record, Boot: "boot"}, Ask: make(chan struct{}, 1)}}
	a.State.Load()
	a.State.SetCDI(true)
	kubelet := podresources.New(c.PodResources)
	d := &device{allocator: a, node: c.Node, Server: &plugin.Server{
		Dir: c.Kubelet, Resource: protocol.Resource, Backend: mortal{a, c.Dies}, Log: log, Known: plugin.Known(kubelet, protocol.Resource),
	}}
	look := func() error {
		var bad []int
		text, err := os.ReadFile(c.Bad)
		if err == nil {
			err = json.Unmarshal(text, &bad)
		}
		d.look(bad...)
		return err
	}
	if err := look(); err != nil {
		return err
	}
	go plugin.FollowKubelet(ctx, kubelet, []string{protocol.Resource}, a.State.Ask, log, a.State.SetListed)
	go d.Run(ctx)
	for tick := time.NewTicker(10 * time.Millisecond); ; {
		select {
		case <-ctx.Done():
			time.Sleep(50 * time.Millisecond) // for the session to end
			return nil
		case <-tick.C:
			if err := look(); err != nil {
				return err
			}
		}
	}
}

// process is a plugin in a process of its own.
type process struct {
	*exec.Cmd
	ended chan struct{}
}

// startProcess starts the plugin. What it logs goes to the test's directory.
func startProcess(t testing.TB, c child) *process {
	t.Helper()
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.OpenFile(filepath.Join(filepath.Dir(c.Bad), "plugin.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	p := &process{Cmd: exec.Command("/proc/self/exe"), ended: make(chan struct{})}
	p.Env = append(os.Environ(), childVariable+"="+string(text))
	p.Stdout, p.Stderr = log, log
	p.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		p.Wait()
		close(p.ended)
	}()
	return p
}

// end sends a signal and waits for the end.
func (p *process) end(signal syscall.Signal) {
	p.Process.Signal(signal)
	<-p.ended
}
