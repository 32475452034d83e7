// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	specs "tags.cncf.io/container-device-interface/specs-go"

	"github.com/metax-ctk/container-toolkit/internal/cdi"
	"github.com/metax-ctk/container-toolkit/internal/engine"
	"github.com/metax-ctk/container-toolkit/internal/engine/containerd"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/lease"
	"github.com/metax-ctk/container-toolkit/internal/sim"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// drop takes entries out of a tree, with all below.
func (b *bench) drop(paths ...string) {
	for _, p := range paths {
		for at := range b.tree {
			if at == p || strings.HasPrefix(at, p+"/") {
				delete(b.tree, at)
			}
		}
	}
}

// engine makes an engine another version, or none.
func (b *bench) engine(program, version string) {
	if version == "" {
		b.drop("usr/bin/" + program)
		return
	}
	b.tree["usr/bin/"+program] = script(program + " version " + version)
	if program == "dockerd" {
		b.info["ServerVersion"] = version
	}
}

// edit changes the spec on disk.
func (b *bench) edit(change func(s *specs.Spec)) {
	b.t.Helper()
	spec, err := cdi.Load(b.c.Root, "/"+gpuSpec)
	b.must(err)
	change(spec)
	_, err = cdi.Write(b.path(gpuSpec), spec, cdi.JSON)
	b.must(err)
}

// record changes the record on disk.
func (b *bench) record(change func(n *gpu.Node)) {
	b.t.Helper()
	text, err := os.ReadFile(b.path(recordPath))
	b.must(err)
	n, err := gpu.DecodeNode(text)
	b.must(err)
	change(&n)
	text, err = json.Marshal(n)
	b.must(err)
	b.put(recordPath, string(text))
}

// lease puts a lease into the host's own ledger.
func (b *bench) lease(l usage.Lease) {
	b.t.Helper()
	k, err := b.keeper(simulated(b.t, b.name))
	b.must(err)
	self, err := k.Proc.Self()
	b.must(err)
	if l.Client == (usage.Client{}) {
		l.Client = self
	}
	l.Since, l.Verb = time.Now(), usage.VerbRun
	b.must(k.Ledger.Update(context.Background(), func(s *lease.State) error {
		s.Leases = append(s.Leases, l)
		return nil
	}))
}

// alice is a user who may do nothing.
var alice = Asker{UID: 1000, Name: "alice", Groups: []int{1000}}

// facts changes what was collected, for what no test can bring about.
func (b *bench) facts(change func(f *Facts)) { b.change = append(b.change, change) }

// leave leaves out checks that rightly find something too.
func (b *bench) leave(ids ...string) { b.left = append(b.left, ids...) }

// generate writes the spec of the host's node.
func (b *bench) generate(opt cdi.Options) {
	b.t.Helper()
	f, err := Collect(context.Background(), b.c)
	b.must(err)
	opt.EngineRoot, opt.Partial = b.dir, true
	spec, err := cdi.Generate(f.Node.Node, opt)
	b.must(err)
	_, err = cdi.Write(b.path(gpuSpec), spec, cdi.JSON)
	b.must(err)
}

// rewrite writes spec and record as cdi generate would on the host as it is, so that nothing
// but what is broken is left to be found.
func (b *bench) rewrite() {
	b.t.Helper()
	f, err := Collect(context.Background(), b.c)
	b.must(err)
	b.generate(cdi.Options{})
	if slices, err := cdi.GenerateSlices(f.Node.Node, cdi.Options{EngineRoot: b.dir, Class: cdi.SliceClass}); err == nil {
		_, err := cdi.Write(b.path("var/run/cdi/metax-tech.com-sgpu.json"), slices, cdi.JSON)
		b.must(err)
	}
	text, err := json.Marshal(f.Node.Node)
	b.must(err)
	b.put(recordPath, string(text))
}

// copy copies a file of the host.
func (b *bench) copy(from, to string) {
	b.t.Helper()
	text, err := os.ReadFile(b.path(from))
	b.must(err)
	b.put(to, string(text))
}

// environ is the asker's environment.
func (b *bench) environ(vars ...string) {
	b.c.Getenv = func(name string) string {
		for _, v := range vars {
			if value, ok := strings.CutPrefix(v, name+"="); ok {
				return value
			}
		}
		return map[string]string{"HOME": b.path("root")}[name]
	}
}

// kubelet has the cgroup driver.
func (b *bench) kubelet(driver string) {
	b.tree["var/lib/kubelet/config.yaml"] = sim.File{Data: "cgroupDriver: " + driver + "\n"}
}

// hook is an OCI hook that runs metax-hook.
func (b *bench) hook(stage, program string) {
	b.tree["etc/containers/oci/hooks.d/metax.json"] = sim.File{
		Data: fmt.Sprintf(`{"version": "1.0.0", "hook": {"path": %q}, "when": {"always": true}, "stages": [%q]}`, program, stage),
	}
}

// vfio sets the first GPU aside for virtual machines.
func (b *bench) vfio() {
	b.drop(sysfs0+"/driver", sysfs0+"/drm", "dev/dri/card1", "dev/dri/renderD128")
	b.tree[sysfs0+"/driver"] = sim.Link("/sys/bus/pci/drivers/vfio-pci")
	b.tree["sys/bus/pci/drivers/vfio-pci"] = sim.Dir{}
}

// open makes all nodes everybody's.
func (b *bench) open() {
	for p, e := range b.tree {
		if d, ok := e.(sim.Device); ok {
			d.Perm = 0o666
			b.tree[p] = d
		}
	}
}

// noRootless takes away what only rootless containers need.
func (b *bench) noRootless() { b.must(os.Remove(b.path("usr/bin/podman"))) }

// containerd2 is a configuration of containerd 1.
func (b *bench) containerd2() {
	b.tree["etc/containerd/config.toml"] = sim.File{Data: "version = 2\n[plugins.'io.containerd.grpc.v1.cri'.containerd.runtimes.runc.options]\nSystemdCgroup = true\n"}
}

// configured sets containerd up, as metax-ctk runtime configure does.
func (b *bench) configured() {
	b.t.Helper()
	changes, err := containerd.Configure(containerd.Input{
		Main: []byte(b.tree["etc/containerd/config.toml"].(sim.File).Data), Version: engine.Version{Major: 1, Minor: 7, Patch: 24},
	}, engine.Setup{Name: "metax", Runtime: "/usr/bin/metax-runtime", CDI: true})
	b.must(err)
	for _, c := range changes {
		b.tree[c.Path[1:]] = sim.File{Data: string(c.After)}
	}
}

// bdfs are the addresses of GPUs by index.
func (b *bench) bdfs(indices ...int) []gpu.BDF {
	var all []gpu.BDF
	for _, i := range indices {
		all = append(all, simulated(b.t, b.name).GPUs[i].BDF)
	}
	return all
}

// holds starts a process that has a file of the host open.
func (b *bench) holds(p string) {
	b.t.Helper()
	b.processes = true
	f, err := os.Open(b.path(p))
	b.must(err)
	defer f.Close()
	sleep := exec.Command("sleep", "600")
	sleep.Stdin = f
	b.must(sleep.Start())
	b.t.Cleanup(func() {
		_ = sleep.Process.Kill()
		_ = sleep.Wait() // it says that it was killed
	})
}

// software writes a spec of the host's MXMACA whose hook is the program; without one it has
// none.
func (b *bench) software(hook string) {
	b.t.Helper()
	spec := &specs.Spec{Version: "0.5.0", Kind: cdi.Kind(cdi.DefaultVendor, cdi.SoftwareClass), Devices: []specs.Device{{
		Name: cdi.SoftwareDevice, ContainerEdits: specs.ContainerEdits{Mounts: []*specs.Mount{{
			HostPath: b.path("opt/maca-3.3.0.15"), ContainerPath: "/opt/maca", Options: []string{"ro"},
		}}},
	}}}
	if hook != "" {
		spec.Devices[0].ContainerEdits.Hooks = []*specs.Hook{{HookName: "createContainer", Path: hook, Env: []string{"A=1"}}}
	}
	_, err := cdi.Write(b.path(softwareSpec), spec, cdi.JSON)
	b.must(err)
	want := b.c.Want
	b.c.Want = func(node gpu.Node, opt cdi.Options) (*specs.Spec, error) {
		if opt.Class == cdi.SoftwareClass {
			return cdi.Load(b.c.Root, "/"+softwareSpec)
		}
		return want(node, opt)
	}
}

const softwareSpec = "var/run/cdi/metax-tech.com-maca.json"
