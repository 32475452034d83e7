// SPDX-License-Identifier: Apache-2.0

package cdispec

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/child"
	"github.com/metax-ctk/container-toolkit/internal/discover"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/refresh"
	"github.com/metax-ctk/container-toolkit/internal/sim"
	"github.com/metax-ctk/container-toolkit/test/simtest"
	"github.com/metax-ctk/container-toolkit/test/standin"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

// host is a simulated host, and the directories of the true one that a container sees.
type host struct {
	*testing.T
	Writer
	said []string
}

func newHost(t *testing.T, name string) *host {
	t.Helper()
	n := simtest.Node(t, name)
	return hostOf(t, n)
}

func hostOf(t *testing.T, n gpu.Node) *host {
	t.Helper()
	h := &host{T: t}
	tree, err := sim.HostTree(n)
	if err != nil {
		t.Fatal(err)
	}
	root, to := t.TempDir(), t.TempDir()
	if err := sim.WithSMI(tree, n, standin.SMI(t)).Write(root); err != nil {
		t.Fatal(err)
	}
	hook := filepath.Join(t.TempDir(), "metax-hook")
	testfile.Write(t, hook, "program", 0o600)
	h.Writer = Writer{
		EngineRoot: "/", Dir: "/var/lib/metax-container-toolkit", Hook: hook, Tool: child.Tool,
		Warn: func(lines ...string) { h.said = append(h.said, lines...) },
	}
	if h.Host, err = hostfs.New(root); err != nil {
		t.Fatal(err)
	}
	if h.To, err = hostfs.New(to); err != nil {
		t.Fatal(err)
	}
	return h
}

func (h *host) write() refresh.Generation {
	h.Helper()
	done, err := h.Write(h.Context())
	if err != nil {
		h.Fatal(err)
	}
	return done
}

func (h *host) read(name string) string {
	h.Helper()
	text, err := h.To.ReadFile(name)
	if err != nil {
		h.Fatal(err)
	}
	return string(text)
}

const spec = "/var/run/cdi/metax-tech.com-gpu.json"

func (h *host) devices() (names []string) {
	h.Helper()
	var s struct{ Devices []struct{ Name string } }
	if err := json.Unmarshal([]byte(h.read(spec)), &s); err != nil {
		h.Fatal(err)
	}
	for _, d := range s.Devices {
		names = append(names, d.Name)
	}
	return names
}

func uuids(names []string) (n int) {
	for _, name := range names {
		if strings.HasPrefix(name, "GPU-") {
			n++
		}
	}
	return n
}

func TestWrite(t *testing.T) {
	h := newHost(t, "c500-8")
	if done := h.write(); !done.Changed || uuids(h.devices()) != 8 {
		t.Errorf("%+v: %v", done, h.devices())
	}
	text := h.read(spec)
	if !strings.Contains(text, `"/var/lib/metax-container-toolkit/metax-hook"`) || strings.Contains(text, h.Host.Dir()) || strings.Contains(text, h.To.Dir()) {
		t.Error(text)
	}
	info, err := os.Stat(h.To.Join("/var/lib/metax-container-toolkit/metax-hook"))
	if err != nil || info.Mode().Perm() != 0o755 || h.read("/var/lib/metax-container-toolkit/metax-hook") != "program" {
		t.Errorf("%v %v", info, err)
	}
	if done := h.write(); done.Changed {
		t.Errorf("written again: %+v", done)
	}
	if again, err := os.Stat(h.To.Join("/var/lib/metax-container-toolkit/metax-hook")); err != nil || !os.SameFile(info, again) {
		t.Errorf("the hook was copied again: %v", err)
	}

	// After a reboot the files in /run are gone, and mx-smi does not answer yet.
	for _, dir := range []string{"/run", "/var/run"} {
		if err := os.RemoveAll(h.To.Join(dir)); err != nil {
			t.Fatal(err)
		}
	}
	h.Tool = func(context.Context, string, ...string) ([]byte, error) { return nil, errors.New("not yet") }
	h.write()
	if got := h.read(spec); got != text {
		t.Errorf("the spec after a reboot:\n%s", got)
	}
	if !strings.Contains(strings.Join(h.said, "\n"), "come from the recorded node") {
		t.Errorf("said %q", h.said)
	}
}

func TestWriteRefuses(t *testing.T) {
	h := newHost(t, "c500-8")
	h.Tool = nil
	if err := os.RemoveAll(h.Host.Join("/sys/devices/virtual/mxcd/mxcd/layout")); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Write(t.Context()); !errors.Is(err, ErrNoUUID) {
		t.Errorf("without mx-smi, the driver's layout and a record: %v", err)
	}
	h.Tool = child.Tool
	smi := h.Host.Join("/opt/mxdriver/bin/mx-smi")
	testfile.Write(t, smi, "#!/nowhere/sh\n", 0o755)
	if _, err := h.Write(t.Context()); !errors.Is(err, ErrNoUUID) || !strings.Contains(err.Error(), "tried "+h.Host.Join("/opt/mxdriver/lib/libmxsml.so")) ||
		!strings.Contains(err.Error(), h.Host.Join("/usr/bin/mx-smi")+": ") || !strings.Contains(err.Error(), "fork/exec "+smi+": no such file or directory") {
		t.Errorf("with an mx-smi that cannot run: %v", err)
	}
	h = newHost(t, "c500-8")
	h.Hook += "-absent"
	if _, err := h.Write(t.Context()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without metax-hook: %v", err)
	}
	h = newHost(t, "c500-8")
	if err := os.Remove(h.Host.Join("/dev/mxcd")); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Write(t.Context()); !errors.Is(err, refresh.ErrNoDriver) {
		t.Errorf("without /dev/mxcd: %v", err)
	}
	empty := simtest.Root(t, t.TempDir())
	h.Host = empty
	if _, err := h.Write(t.Context()); !errors.Is(err, discover.ErrNoGPU) {
		t.Errorf("without a GPU: %v", err)
	}
	if h.To.Exists(spec) {
		t.Error("a spec was written")
	}
}

// TestOneBrokenGPU: the others are in the spec.
func TestOneBrokenGPU(t *testing.T) {
	h := newHost(t, "c500-8")
	if err := os.Remove(h.Host.Join("/dev/dri/renderD130")); err != nil {
		t.Fatal(err)
	}
	h.write()
	if got := uuids(h.devices()); got != 7 {
		t.Errorf("%d GPUs in the spec", got)
	}
}

// TestVirtualFunctions: a node whose GPUs all have virtual functions has a spec of these
// alone.
func TestVirtualFunctions(t *testing.T) {
	n := simtest.Node(t, "c500-1")
	g := &n.GPUs[0]
	vf := g.BDF
	vf.Function = 1
	g.VFs, g.SRIOV = []gpu.BDF{vf}, gpu.SRIOVOn
	g.Slices = []gpu.Slice{{Kind: gpu.SliceVF, BDF: vf, Nodes: []string{"/dev/dri/card9", "/dev/dri/renderD140"}, GIDs: []uint32{44}}}
	h := hostOf(t, n)
	h.write()
	if text := h.read("/var/run/cdi/metax-tech.com-sgpu.json"); !strings.Contains(text, vf.String()) || h.To.Exists(spec) {
		t.Error(text)
	}
}

func TestHookOfThePackage(t *testing.T) {
	h := newHost(t, "c500-1")
	testfile.Mkdir(t, h.Host.Join("/usr/bin"), 0o755)
	testfile.Write(t, h.Host.Join("/usr/bin/metax-hook"), "", 0o600)
	h.write()
	if !strings.Contains(h.read(spec), `"/usr/bin/metax-hook"`) || h.To.Exists("/var/lib/metax-container-toolkit/metax-hook") {
		t.Error(h.read(spec))
	}
}
