// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/edits"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/allocate"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/allocations"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/foreignuse"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
	"github.com/metax-ctk/container-toolkit/test/simtest"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

// allocator returns one of the node c500-8, with a record in dir.
func allocator(t testing.TB, dir, boot string, log *strings.Builder) (*Allocator, gpu.Node) {
	t.Helper()
	node := simtest.Node(t, "c500-8")
	a := &Allocator{State: &NodeState{
		Settings: Settings{PodPolicies: true}, Log: slog.New(slog.NewTextHandler(log, nil)),
		Store: allocations.Store{Path: filepath.Join(dir, "allocations.json"), Boot: boot},
	}}
	a.State.Load()
	a.State.SetCDI(true)
	a.State.SetNode(node, devicesOf(node), nil)
	return a, node
}

// request is a pod that asks for n GPUs.
func request(pod string, n int, choice protocol.PodChoice) allocate.Request {
	return allocate.Request{Wanted: allocations.Wanted{Container: allocations.Container{UID: pod, Namespace: "team", Pod: pod, Name: "main"}, Count: n}, Choice: choice}
}

func TestMACA(t *testing.T) {
	yes, no := true, false
	for _, test := range []struct {
		setting MACA
		pod     *bool
		want    bool
	}{
		{MACAOff, nil, false},
		{MACAOff, &yes, false},
		{MACAAuto, nil, false},
		{MACAAuto, &yes, true},
		{MACAAuto, &no, false},
		{MACAAlways, nil, true},
		{MACAAlways, &no, false},
		{MACAFallback, &yes, true},
		{MACAFallback, &no, false},
	} {
		a, node := allocator(t, t.TempDir(), "boot", new(strings.Builder))
		a.State.MACA = test.setting
		a.State.SetRequests([]allocate.Request{request("pod", 1, protocol.PodChoice{MACA: test.pod})})
		answer, err := a.Allocate([]string{string(node.GPUs[0].UUID)})
		if err != nil {
			t.Fatal(err)
		}
		if got := len(answer.CdiDevices) == 2 && answer.CdiDevices[1].Name == "metax-tech.com/maca=host"; got != test.want {
			t.Errorf("%s, pod says %v: %v", test.setting, test.pod, answer.CdiDevices)
		}
	}
	var log strings.Builder
	a, node := allocator(t, t.TempDir(), "boot", &log)
	a.State.MACA = MACAAlways
	a.State.SetCDI(false)
	a.State.SetNode(node, devicesOf(node), &edits.Software{Path: "/opt/maca", Dir: "/opt/maca-3"})
	if r, err := a.Allocate([]string{string(node.GPUs[0].UUID)}); err != nil || r.Mounts[len(r.Mounts)-1].HostPath != "/opt/maca-3" {
		t.Errorf("without CDI: %v, %v", r, err)
	}
	node.MACA = nil
	a.State.SetCDI(true)
	a.State.SetNode(node, devicesOf(node), nil)
	if _, err := a.Allocate([]string{string(node.GPUs[0].UUID)}); err != nil || !strings.Contains(log.String(), "this node has none") {
		t.Errorf("a node without MXMACA: %v, %s", err, log.String())
	}
	for _, word := range []string{"off", "auto", "always"} {
		if m, err := ParseMACA(word); err != nil || string(m) != word {
			t.Errorf("%s: %v, %v", word, m, err)
		}
	}
}

// TestRecord: what was answered is known after a restart, with the container if it was known.
func TestRecord(t *testing.T) {
	dir := t.TempDir()
	var log strings.Builder
	a, node := allocator(t, dir, "boot", &log)
	changed := 0
	a.State.Changed, a.State.Ask = func() { changed++ }, make(chan struct{}, 1)
	a.State.SetRequests([]allocate.Request{request("pod", 2, protocol.PodChoice{})})
	ids := []string{string(node.GPUs[1].UUID), string(node.GPUs[0].UUID)}
	if _, err := a.Allocate(ids); err != nil {
		t.Fatal(err)
	}
	if changed != 2 || len(a.State.Ask) != 1 {
		t.Errorf("%d changes, %d signals", changed, len(a.State.Ask))
	}
	again, _ := allocator(t, dir, "boot", &log)
	inUse, _ := again.State.InUse()
	want, _ := a.State.InUse()
	if diff := cmp.Diff(want, inUse); diff != "" || len(inUse) != 2 {
		t.Errorf("in use after a restart: %v", inUse)
	}
	if e := again.State.view().record.Entries[0]; e.For == nil || e.For.Pod != "pod" {
		t.Errorf("the container is not known: %v", e)
	}
	a.State.SetRequests([]allocate.Request{request("pod", 2, protocol.PodChoice{})}) // the API server names its pod
	if again, _ = allocator(t, dir, "boot", &log); !again.State.view().record.Entries[0].Seen {
		t.Error("that the API server has named the pod is not in the record")
	}
	if log.Len() > 0 && strings.Contains(log.String(), "begins anew") {
		t.Error(log.String())
	}

	if next, _ := allocator(t, dir, "next boot", &log); len(next.State.view().record.Entries) != 0 || !strings.Contains(log.String(), "of another boot") {
		t.Errorf("after a reboot: %v, %s", next.State.view().record, log.String())
	}
	log.Reset()
	testfile.Write(t, filepath.Join(dir, "allocations.json"), "{", 0o600)
	if next, _ := allocator(t, dir, "boot", &log); len(next.State.view().record.Entries) != 0 || !strings.Contains(log.String(), "damaged") {
		t.Errorf("a damaged record: %v, %s", next.State.view().record, log.String())
	}
}

// TestRecordCannotBeWritten: the container gets its GPUs nevertheless.
func TestRecordCannotBeWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	testfile.Write(t, file, "", 0o600)
	var log strings.Builder
	a, node := allocator(t, file, "boot", &log)
	if _, err := a.Allocate([]string{string(node.GPUs[0].UUID)}); err != nil || !strings.Contains(log.String(), "only in memory") {
		t.Errorf("%v, %s", err, log.String())
	}
	if ids, _ := a.State.InUse(); len(ids) != 1 {
		t.Errorf("in use: %v", ids)
	}
}

// TestBeforeTheFirstLook: nothing is known, and nothing is given.
func TestBeforeTheFirstLook(t *testing.T) {
	a := &Allocator{State: &NodeState{Log: slog.New(slog.DiscardHandler), Store: allocations.Store{Path: filepath.Join(t.TempDir(), "allocations.json")}}}
	a.State.Load()
	a.State.SetRequests(nil)
	_, err := a.Allocate([]string{"GPU-x"})
	if err = errors.Join(err, a.PreStart([]string{"GPU-x"})); err == nil || len(a.Preferred([]string{"GPU-x"}, nil, 1)) > 0 {
		t.Errorf("it answers: %v", err)
	}
}

// TestOutside: GPUs with a lease of the node tool are left to their holders.
func TestOutside(t *testing.T) {
	a, node := allocator(t, t.TempDir(), "boot", new(strings.Builder))
	a.State.SetOutside([]foreignuse.Use{{GPU: node.GPUs[0].BDF}})
	var all []string
	for _, g := range node.GPUs {
		all = append(all, string(g.UUID))
	}
	if diff := cmp.Diff(all[4:], a.Preferred(all, nil, 4)); diff != "" {
		t.Error(diff)
	}
}
