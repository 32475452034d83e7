// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/metax-ctk/container-toolkit/test/report"
	"github.com/metax-ctk/container-toolkit/test/sandbox"
)

// The files of a user with a second runtime, and a drop-in that is read before the
// toolkit's.
const (
	containersSite = `# site: podman runs beside slurm
[containers]
pids_limit = 0

[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
runtime = %q

[engine.runtimes]
spare = ["/usr/bin/crun"]	# for the curious
`
	containersDropIn = `[engine]
image_parallel_copies = 2
`
)

func TestConfigurePodman(t *testing.T) {
	t.Cleanup(noPodmanCgroups)
	for _, row := range []struct {
		suite, version, runtime string
		layout                  sandbox.Layout
		// hook reports whether it is installed: Podman 4 would run it for annotations of
		// images.
		hook bool
	}{
		{"bookworm", "4.3.", "crun", sandbox.V1, false},
		{"trixie", "5.4.", "runc", sandbox.V2, true},
		{"sid", "5.8.", "crun", sandbox.V2, true},
	} {
		t.Run(row.suite, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, row.suite, row.layout)
			h.replant(t)
			if !row.hook {
				h.must(t, nil, "metax-ctk", "cdi", "generate", "--no-groups", "--output", "/run/cdi/metax-tech.com-gpu.json")
			}
			h.podman(t, row.version, row.runtime)
			h.write(t, "/etc/containers/containers.conf", fmt.Sprintf(containersSite, row.runtime))
			h.write(t, "/etc/containers/containers.conf.d/50-site.conf", containersDropIn)
			p := podmanBy{h}
			byHook := []int(nil)
			if row.hook {
				byHook = []int{4}
			}
			const ask = "--annotation=metax-tech.com/gpu=4"
			h.configures(t, setting{
				engine:   "podman",
				activate: nothingTo(""),
				running: func(t *testing.T) {
					t.Helper()
					p.sees(t, "metax", nil)
					p.sees(t, "metax", []int{4}, ask)
					p.sees(t, "", byHook, ask)
					p.sees(t, "spare", byHook, ask)
					p.sees(t, "", []int{6}, "--device=metax-tech.com/gpu=6")
					p.sees(t, "metax", []int{6}, "--device=metax-tech.com/gpu=6")
					if r := p.run(t, h.inbox(t), "metax", "--annotation=metax-tech.com/gpu=99"); r.code == 0 {
						t.Errorf("want no container with a GPU that does not exist: %v", r)
					}
				},
				bare: func(t *testing.T) {
					t.Helper()
					if r := p.run(t, h.inbox(t), "metax"); r.code == 0 || !strings.Contains(r.stderr, "metax") {
						t.Errorf("want no runtime of this name: %v", r)
					}
					p.sees(t, "", nil, ask)
					p.sees(t, "spare", nil)
				},
			})
		})
	}
}

// nothingTo is for an engine that reads its files whenever it is called, or is told so.
func nothingTo(want string) func(*testing.T, string) {
	return func(t *testing.T, command string) {
		t.Helper()
		if command != want {
			t.Fatalf("the command is %q, want %q", command, want)
		}
	}
}

// noPodmanCgroups removes what --verify has Podman make of its own: it names no other
// parent, and no configuration can. Call it when no row runs any more. A Podman of the
// machine itself may use them: then they stay.
func noPodmanCgroups() {
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		left := 0
		for _, pattern := range []string{"/sys/fs/cgroup/libpod_parent", "/sys/fs/cgroup/*/libpod_parent"} {
			dirs, err := filepath.Glob(pattern)
			if err != nil {
				panic(err) // of the pattern
			}
			for _, dir := range dirs {
				os.Remove(filepath.Join(dir, "conmon"))
				if err := os.Remove(dir); err != nil && !os.IsNotExist(err) {
					left++ // the kernel takes a moment to let go of the dead
				}
			}
		}
		if left == 0 {
			return
		}
	}
}

// podmanBy runs the probe by a runtime of a name; "" is the default one.
type podmanBy struct{ *host }

func (p podmanBy) run(t *testing.T, in inbox, runtime string, options ...string) result {
	t.Helper()
	argv := []string{"podman"}
	if runtime != "" {
		argv = append(argv, "--runtime="+runtime)
	}
	argv = append(argv, "run", "--rm", "--network=none", "--volume", in.dir+":"+report.Dir, "--cap-add=MKNOD", "--cgroup-parent="+p.Cgroup())
	argv = append(append(argv, options...), imageRef, "/probe", "look")
	return p.host.run(t, nil, append(argv, p.numbers(t)...)...)
}

func (p podmanBy) sees(t *testing.T, runtime string, gpus []int, options ...string) {
	t.Helper()
	in := p.inbox(t)
	if r := p.run(t, in, runtime, options...); r.code != 0 {
		t.Fatalf("by the runtime %q, %v: %v", runtime, options, r)
	}
	p.host.sees(t, in.report(t), gpus)
}
