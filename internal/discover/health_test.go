// SPDX-License-Identifier: Apache-2.0

package discover_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/discover"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/health"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/sim"
	"github.com/metax-ctk/container-toolkit/test/simtest"
	"github.com/metax-ctk/container-toolkit/test/standin"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

// codes are the codes of the problems of each GPU, with "." for none, and whether the look
// failed.
func codes(l health.Look) string {
	var words []string
	for _, r := range l.Readings {
		word := "."
		for i, p := range r.Problems {
			if word = p.Code; i > 0 {
				word = words[len(words)-1] + "+" + p.Code
				words = words[:len(words)-1]
			}
			words = append(words, word)
		}
		if len(r.Problems) == 0 {
			words = append(words, word)
		}
	}
	if l.Failed != "" {
		words = append(words, "failed")
	}
	return strings.Join(words, " ")
}

// TestHealth takes a look at hosts in which one thing is wrong.
func TestHealth(t *testing.T) {
	const quad = "c500-4-degraded"
	link := func(root *hostfs.Root, width string) {
		for _, b := range simtest.Node(t, quad).GPUs[2:3] {
			path := root.Join("/sys/bus/pci/devices/" + b.BDF.String() + "/current_link_width")
			testfile.Write(t, path, width+"\n", 0o644)
		}
	}
	remove := func(root *hostfs.Root, path string) {
		if err := os.Remove(root.Join(path)); err != nil {
			t.Fatal(err)
		}
	}
	none := func(*hostfs.Root) {}
	fails := func(context.Context, string, ...string) ([]byte, error) { return nil, errors.New("exit status 1") }
	some := tool([]string{"0000:0e:00.0", "0000:0f:00.0", "0000:10:00.0", "0000:99:00.0"}, "")
	for _, test := range []struct {
		name   string
		damage func(*hostfs.Root)
		run    func(context.Context, string, ...string) ([]byte, error)
		want   string
	}{
		{"in order", none, run, ". . . ."},
		{"a device node is gone", func(r *hostfs.Root) { remove(r, simtest.Node(t, quad).GPUs[1].Nodes[0]) }, run, ". no-device-nodes . ."},
		{"a link that is down", func(r *hostfs.Root) { link(r, "0") }, run, ". . pci-link ."},
		{"a function that does not answer", func(r *hostfs.Root) { link(r, "63") }, run, ". . pci-link ."},
		{"a narrow link", func(r *hostfs.Root) { link(r, "8") }, run, ". . . ."},
		{"a tool that fails", func(r *hostfs.Root) { link(r, "0") }, fails, ". . pci-link . failed"},
		{"a tool that must not run", none, nil, ". . . ."},
		{"no tool", func(r *hostfs.Root) { remove(r, "/opt/mxdriver/bin/mx-smi"); remove(r, "/usr/bin/mx-smi") }, fails, ". . . ."},
		{"the lists differ", none, some, ". . . not-listed missing"},
	} {
		t.Run(test.name, func(t *testing.T) {
			root := simtest.Write(t, hostTree(t, quad))
			test.damage(root)
			got, err := discover.Host{Root: root, Run: test.run}.Health(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, codes(got)); diff != "" {
				t.Errorf("%s\n%+v", diff, got)
			}
		})
	}
	t.Run("no GPU", func(t *testing.T) {
		_, err := discover.Host{Root: simtest.Write(t, sim.Tree{"etc": sim.Dir{}}), Run: run}.Health(t.Context())
		if !errors.Is(err, discover.ErrNoGPU) {
			t.Error(err)
		}
	})
	t.Run("for a virtual machine", func(t *testing.T) {
		tree := hostTree(t, quad)
		first := simtest.Node(t, quad).GPUs[0]
		for path := range tree {
			if strings.Contains(path, first.BDF.String()+"/drm/") {
				delete(tree, path)
			}
			if strings.HasSuffix(path, first.BDF.String()+"/driver") {
				tree[path] = sim.Link("/sys/bus/pci/drivers/vfio-pci")
			}
		}
		tree["sys/bus/pci/drivers/vfio-pci"] = sim.Dir{}
		got, err := discover.Host{Root: simtest.Write(t, tree), Run: run}.Health(t.Context())
		if err != nil || codes(got) != "vfio . . ." {
			t.Errorf("%v %+v", err, got)
		}
	})
}

// TestHealthLibrary: libmxsml gives codes, and mx-smi does not answer for a libmxsml that
// hangs.
func TestHealthLibrary(t *testing.T) {
	const quad = "c500-4-degraded"
	told, tree := simtest.Node(t, quad), oldTree(t, quad)
	told.GPUs[3].Healthy = false
	root, lib := withLibrary(t, tree, told)
	host := discover.Host{Root: root, Library: ask(t), Run: noTool(t), Timeout: time.Minute}
	got, err := host.Health(t.Context())
	if err != nil || codes(got) != ". . . vendor" || got.Readings[3].UUID != told.GPUs[3].UUID {
		t.Errorf("%v %+v", err, got)
	}
	text, err := os.ReadFile(lib + ".txt")
	if err != nil {
		t.Fatal(err)
	}
	reason := strings.Replace(string(text), " 0 0 - 0 ", " 0 12 overheated 0 ", 1)
	testfile.Write(t, lib+".txt", reason, 0o644)
	got, err = host.Health(t.Context())
	want := []health.Problem{{Code: "vendor-12", Text: "libmxsml reports it as unhealthy: overheated", Words: "overheated"}}
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got.Readings[3].Problems); diff != "" {
		t.Error(diff)
	}
	standin.Tell(t, lib, told, "hang mxSmlGetDeviceCount 0")
	host.Run, host.Timeout = run, 2*time.Second
	if got, err = host.Health(t.Context()); err != nil || codes(got) != ". . . ." {
		t.Errorf("by mx-smi: %v %+v", err, got)
	}
	host.Run = func(context.Context, string, ...string) ([]byte, error) { return nil, fmt.Errorf("exit status 1") }
	if got, err = host.Health(t.Context()); err != nil || codes(got) != ". . . . failed" {
		t.Errorf("by nobody: %v %+v", err, got)
	}
	if err := os.Remove(filepath.Join(root.Join("/opt/mxdriver/bin"), "mx-smi")); err != nil {
		t.Fatal(err)
	}
	var none gpu.UUID
	if got, err = host.Health(t.Context()); err != nil || !strings.Contains(got.Failed, "no answer in time") || got.Readings[0].UUID != none {
		t.Errorf("by the library alone: %v %+v", err, got)
	}
}
