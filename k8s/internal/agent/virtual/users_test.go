// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// TestVirtualMachine has a process that has a GPU open by vfio, as QEMU has.
func TestVirtualMachine(t *testing.T) {
	root := host(t, 2)
	iommu(t, root)
	v := VFIO{Host: root, Bus: NewBus(root), Users: nobody, Record: Record(filepath.Join(t.TempDir(), "r")), UUIDs: func(context.Context) map[gpu.BDF]gpu.UUID { return nil }}
	if r, _ := v.Step(t.Context(), protocol.VFIOWish{Named: true, GPUs: []string{"0", "1"}}); !r.Ready {
		t.Fatal(r)
	}
	cards, err := readCards(root)
	if err != nil {
		t.Fatal(err)
	}
	n := gpu.NewNode("")
	for _, c := range cards {
		n.GPUs = append(n.GPUs, c.GPU)
	}
	at := root.Join("/dev/vfio/21") // a device without a driver, which cannot be opened
	if err := errors.Join(os.Remove(at), os.WriteFile(at, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(at)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	machine := exec.Command("sleep", "1000")
	machine.Stdin = file
	if err := machine.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { machine.Process.Kill(); machine.Wait() })
	for i, want := range [][]string{nil, {fmt.Sprintf("process %d (%s)", machine.Process.Pid, "sleep")}} {
		got, err := virtualMachines(t.Context(), root, n, []gpu.BDF{cards[i].BDF})
		if err != nil && !strings.Contains(err.Error(), "could not be inspected") { // on a machine that hides processes from root
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("GPU %d: %s", i, d)
		}
	}
}
