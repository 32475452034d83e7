// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	specs "tags.cncf.io/container-device-interface/specs-go"

	"github.com/metax-ctk/container-toolkit/internal/assign"
	"github.com/metax-ctk/container-toolkit/internal/cdi"
	"github.com/metax-ctk/container-toolkit/internal/compat"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/holders"
	"github.com/metax-ctk/container-toolkit/internal/holders/procfs"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/lease"
	"github.com/metax-ctk/container-toolkit/internal/sim"
	"github.com/metax-ctk/container-toolkit/internal/usage"
	"github.com/metax-ctk/container-toolkit/test/simtest"
	"github.com/metax-ctk/container-toolkit/test/standin"
	"github.com/metax-ctk/container-toolkit/test/trusted"
)

// bench is a host below a directory on which everything is in order, with engines
// whose programs are scripts and a docker daemon that answers on a real socket.
type bench struct {
	t    *testing.T
	name string // of the simulated node
	tree sim.Tree
	dir  string
	info map[string]any
	c    Config
	// processes lets this machine's processes count. What can be seen of them depends on where
	// the test runs.
	processes bool
	// simulated has the simulated mx-smi run, which looks at the host as it is and
	// takes its time; else it says what it would on the whole host.
	simulated bool
	change    []func(*Facts)
	left      []string
}

// script is a program that prints one line.
func script(line string) sim.File {
	return sim.File{Data: "#!/bin/sh\necho '" + line + "'\n", Perm: 0o755}
}

const (
	recordPath = "/run/metax-container-toolkit/node.json"
	configPath = "/etc/metax-container-toolkit/config.toml"
	gpuSpec    = "var/run/cdi/metax-tech.com-gpu.json"
)

// newBench returns the host, not yet written; change may break its tree.
func newBench(t *testing.T, name string) *bench {
	t.Helper()
	node := simulated(t, name)
	tree, err := sim.HostTree(node)
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, name: name, tree: sim.WithSMI(tree, node, standin.SMI(t))}
	// A socket's path has to be short, and a thousand links are made, which takes long
	// on a disk.
	if b.dir, err = os.MkdirTemp("/dev/shm", "doctor"); err != nil {
		if b.dir, err = os.MkdirTemp("", "doctor"); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { os.RemoveAll(b.dir) })
	for p, e := range tree {
		if d, ok := e.(sim.Device); ok && strings.HasPrefix(p, "dev/") {
			tree[fmt.Sprintf("dev/char/%d:%d", d.Major, d.Minor)] = sim.Link(".." + strings.TrimPrefix(p, "dev"))
		}
	}
	for p, e := range map[string]sim.Entry{
		"run/systemd/system": sim.Dir{}, "etc/cdi": sim.Dir{}, "var/run": sim.Dir{},
		"etc/group":                   sim.File{Data: "root:x:0:\nvideo:x:44:alice\ndocker:x:999:\n"},
		"etc/subuid":                  sim.File{Data: "alice:100000:65536\n"},
		"etc/subgid":                  sim.File{Data: "alice:100000:65536\n"},
		"proc/sys/kernel/osrelease":   sim.File{Data: "6.1.0-18-amd64\n"},
		"proc/stat":                   sim.File{Data: "cpu 1 2 3\nbtime 1000000000\n"},
		"proc/mounts":                 sim.File{Data: "proc /proc proc rw,nosuid 0 0\n"},
		"proc/100/comm":               sim.File{Data: "dockerd\n"},
		"proc/100/limits":             sim.File{Data: limitsText("1048576")},
		"proc/101/comm":               sim.File{Data: "containerd\n"},
		"proc/101/limits":             sim.File{Data: limitsText("1048576")},
		"sys/fs/selinux/enforce":      sim.File{Data: "1"},
		"var/lib/kubelet/config.yaml": sim.File{Data: "kind: KubeletConfiguration\ncgroupDriver: systemd\n"},
		"usr/bin/dockerd":             script("Docker version 29.5.0, build 3ef3c07"),
		"usr/bin/containerd":          script("containerd github.com/containerd/containerd/v2 2.1.9"),
		"usr/bin/podman":              script("podman version 5.8.0"),
		"usr/bin/crio":                script("crio version 1.34.0"),
		"usr/bin/kubelet":             script("Kubernetes v1.34.0"),
		"usr/bin/systemctl":           script("Result=success"),
		"usr/bin/runc":                script("runc version 1.3.0"),
		"usr/bin/metax-hook":          script("1.2.3"),
		"usr/bin/metax-runtime":       script("1.2.3"),
		"etc/docker/daemon.json":      sim.File{Data: "{\n  \"runtimes\": {\"metax\": {\"path\": \"/usr/bin/metax-runtime\"}}\n}\n"},
		"etc/containerd/config.toml":  sim.File{Data: "version = 3\n[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]\nSystemdCgroup = true\n"},

		"sys/fs/selinux/booleans/container_use_devices":             sim.File{Data: "1 1"},
		"usr/lib/systemd/system/metax-cdi-refresh.service":          sim.File{Data: "[Service]\n"},
		"etc/systemd/system/multi-user.target.wants/" + refreshUnit: sim.Link("/usr/lib/systemd/system/" + refreshUnit),
		"run/metax-container-toolkit/leases":                        sim.Dir{},
	} {
		tree[p] = e
	}
	discovered := []map[string]string{}
	for _, g := range node.GPUs {
		discovered = append(discovered, map[string]string{"Source": "cdi", "ID": cdi.Qualified(gpuKind, fmt.Sprint(g.Index))})
	}
	b.info = map[string]any{
		"ServerVersion": "29.5.0", "CgroupDriver": "systemd", "CgroupVersion": "2", "SecurityOptions": []string{"name=seccomp,profile=builtin"},
		"CDISpecDirs": []string{"/etc/cdi", "/var/run/cdi"}, "DiscoveredDevices": discovered,
		"DefaultRuntime": "runc", "Runtimes": map[string]any{"runc": map[string]any{"path": "runc"}, "metax": map[string]any{"path": "/usr/bin/metax-runtime"}},
	}
	return b
}

func limitsText(open string) string {
	return "Limit                     Soft Limit           Hard Limit           Units     \nMax open files            " + open + "              " + open + "              files     \n"
}

func simulated(t *testing.T, name string) gpu.Node {
	t.Helper()
	n := simtest.Node(t, name)
	return n
}

// write puts the host down, with the specs and the record that the node would get, and starts
// its daemon.
func (b *bench) write() {
	b.t.Helper()
	if err := b.tree.WriteInert(b.dir); err != nil {
		b.t.Fatal(err)
	}
	host, err := hostfs.New(b.dir)
	if err != nil {
		b.t.Fatal(err)
	}
	node := simulated(b.t, b.name)
	spec, err := cdi.Generate(node, cdi.Options{EngineRoot: b.dir})
	if err == nil {
		if err := os.MkdirAll(b.path("var/run/cdi"), 0o755); err != nil {
			b.t.Fatal(err)
		}
		if _, err := cdi.Write(b.path(gpuSpec), spec, cdi.JSON); err != nil {
			b.t.Fatal(err)
		}
	}
	record, err := json.Marshal(node)
	if err != nil {
		b.t.Fatal(err)
	}
	b.put(recordPath, string(record))
	b.c = Config{
		Root: host, RecordPath: recordPath, SMI: b.smi(), Ask: runs, Here: true,
		Self: filepath.Join(programsDir(b.t), "metax-ctk"), Version: "1.2.3", ConfigPath: configPath,
		Rules: compat.Defaults(), SpecDirs: cdi.Dirs(), LeaseDir: assign.Dir, DockerSocket: assign.DockerSocket,
		Want: func(node gpu.Node, opt cdi.Options) (*specs.Spec, error) {
			if opt.Class == cdi.SliceClass {
				return cdi.GenerateSlices(node, opt)
			}
			return cdi.Generate(node, opt)
		},
		Leases: func(ctx context.Context, node gpu.Node) (lease.Report, error) {
			k, err := b.keeper(node)
			if err != nil {
				return lease.Report{}, err
			}
			if !b.processes {
				all := k.Sources
				k.Keeper.Sources = func(s lease.State) []lease.Source {
					return slices.DeleteFunc(all(s), func(s lease.Source) bool { name, _ := s.Name(); return name != "docker" })
				}
			}
			report, err := k.Report(ctx)
			for i := range report.Looks {
				// Of some processes not even root sees everything, in some sandboxes.
				if l := &report.Looks[i]; l.Engine == usage.Processes {
					l.Partial, l.Err = false, nil
				}
			}
			return report, err
		},
	}
	b.environ()
	b.daemon()
}

// keeper are the leases of the host, with its own daemon and this machine's processes.
func (b *bench) keeper(node gpu.Node) (assign.Keeper, error) {
	return assign.New(assign.Config{
		Node: node, Root: b.dir, Engine: "docker", Endpoint: b.path("var/run/docker.sock"),
		GRPC: func(*procfs.Proc, holders.Devices, lease.State) []lease.Source { return nil },
	})
}

func (b *bench) path(p string) string { return filepath.Join(b.dir, p) }

// put writes a file of the host, with directories where they are missing.
func (b *bench) put(p, text string) {
	b.t.Helper()
	if err := os.MkdirAll(filepath.Dir(b.path(p)), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(b.path(p), []byte(text), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// daemon answers what doctor and the leases ask of docker.
func (b *bench) daemon() {
	b.t.Helper()
	if b.info == nil {
		return
	}
	listener, err := net.Listen("unix", b.path("var/run/docker.sock"))
	b.must(err)
	server := http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var answer any
		switch r.URL.Path {
		case "/info":
			answer = b.info
		case "/containers/json":
			if answer = b.info["containers"]; answer == nil {
				answer = []any{}
			}
		case "/events":
			return
		case "/containers/" + boxID + "/json":
			answer = b.info["container"]
		default:
			http.NotFound(w, r)
			return
		}
		_ = json.NewEncoder(w).Encode(answer) // the client sees that it is cut short
	})}
	go func() { _ = server.Serve(listener) }() // until it is closed
	b.t.Cleanup(func() { _ = server.Close() })
}

// programsDir is a directory with the toolkit's programs.
func programsDir(t *testing.T) string {
	t.Helper()
	dir := trusted.Dir(t)
	for _, p := range siblings {
		path := filepath.Join(dir, p.name)
		err := os.WriteFile(path, []byte("#!/bin/sh\necho "+p.name+" 1.2.3\n"), 0o755)
		if err = errors.Join(err, os.Chmod(path, 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// collect returns the facts without the time that programs took, which says how busy this
// machine is.
func (b *bench) collect() *Facts {
	b.t.Helper()
	f, err := Collect(context.Background(), b.c)
	b.must(err)
	for _, calls := range [][]Call{f.Node.SMI, f.Node.Library} {
		for i := range calls {
			calls[i].Took = 0
		}
	}
	return f
}

// findings are what all checks find.
func (b *bench) findings() []Finding {
	b.t.Helper()
	f := b.collect()
	for _, change := range b.change {
		change(f)
	}
	checks, err := Choose(nil, b.left)
	b.must(err)
	// Where this machine is too busy, a daemon does not come to answer in time, which
	// a test can neither expect nor forbid.
	return slices.DeleteFunc(Judge(checks, f), func(f Finding) bool { return strings.Contains(f.What, "no answer within 2s") })
}

// boxID is a container of docker.
var boxID = strings.Repeat("a", 64)

// moved lists a container that was made for GPU 1 and has the nodes of GPU 0.
// onlyAsks is a docker whose only container asks for a GPU by its environment.
func (b *bench) onlyAsks() {
	b.info["containers"] = []any{map[string]any{"Id": boxID, "Names": []string{"/job"}, "State": "running"}}
	b.info["container"] = map[string]any{
		"Id": boxID, "Name": "/job", "State": map[string]any{"Status": "running"},
		"Config": map[string]any{"Image": "image", "Env": []string{"METAX_VISIBLE_DEVICES=0"}}, "HostConfig": map[string]any{"Runtime": "metax"},
	}
}

func (b *bench) moved(state string) {
	gpus := simulated(b.t, b.name).GPUs
	labels := map[string]string{usage.LeaseLabel: "aaaaaaaaaaaa", usage.IDsLabel: string(gpus[1].UUID)}
	b.info["containers"] = []any{map[string]any{"Id": boxID, "Names": []string{"/job"}, "Labels": labels, "State": state}}
	b.info["container"] = map[string]any{
		"Id": boxID, "Name": "/job", "State": map[string]any{"Status": state}, "Config": map[string]any{"Image": "image", "Labels": labels},
		"HostConfig": map[string]any{"Devices": []any{map[string]any{"PathOnHost": b.path(strings.TrimPrefix(gpus[0].Nodes[0], "/"))}}},
	}
}
