// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/test/e2e/internal/cri"
	"github.com/metax-ctk/container-toolkit/test/sandbox"
)

// TestConfigureAuto sets all engines of a machine up by one command, and undoes it by one.
// containerd is docker's there, and no kubelet uses it.
func TestConfigureAuto(t *testing.T) {
	t.Cleanup(noPodmanCgroups)
	t.Run("sid", func(t *testing.T) {
		h := newHost(t, "sid", sandbox.V1)
		h.replant(t)
		h.podman(t, "5.8.", "runc")
		h.write(t, "/etc/containers/containers.conf", fmt.Sprintf(containersSite, "runc"))
		h.write(t, "/etc/docker/daemon.json", fmt.Sprintf(daemonJSON, h.Cgroup()))
		h.write(t, "/etc/crio/crio.conf", fmt.Sprintf(crioConf, imageRef))
		h.write(t, "/etc/crio/crio.conf.d/10-site.conf", crioDropIn)
		h.write(t, "/etc/containerd/config.toml", strings.ReplaceAll(containerdV3, "FORM", "3"))
		dockerd := h.dockerd(t, "28.")
		client, crio := h.crio(t)
		a := auto{h, map[string]*daemon{"docker": dockerd, "crio": crio}, client}
		before := h.etc(t)

		t.Run("dry run", func(t *testing.T) {
			a.does(t, 0, "--dry-run")
			h.unchanged(t, before, "a dry run")
		})
		t.Run("configure", func(t *testing.T) {
			a.does(t, 0)
			after := h.etc(t)
			for path, e := range before {
				if strings.HasSuffix(path, " of containerd") && after[path] != e {
					t.Errorf("containerd was not skipped: %s", cmp.Diff(e, after[path]))
				}
			}
			a.activate(t)
			if r := h.run(t, nil, "metax-ctk", "runtime", "configure", "--yes"); r.code != 0 || strings.Count(r.stdout, "nothing to do") != 3 {
				t.Errorf("the second time: %v", r)
			}
			h.unchanged(t, after, "configured twice")
			if r := h.run(t, nil, "metax-ctk", "runtime", "configure", "--verify"); r.code != 0 {
				t.Errorf("--verify: %v", r)
			}
			a.running(t)
		})
		t.Run("remove", func(t *testing.T) {
			a.does(t, 0, "--remove")
			h.unchanged(t, before, "--remove")
			a.activate(t)
			a.bare(t)
		})
		t.Run("in one go", func(t *testing.T) { a.inOneGo(t, before) })
		t.Run("one is broken", func(t *testing.T) { a.oneBroken(t) })
	})
}

// inOneGo runs metax-ctk setup without a terminal and without systemd: it restarts nothing,
// and says what to type. Once the daemons have read their configuration, it says that
// containers see the GPUs.
func (a auto) inOneGo(t *testing.T, before map[string]entry) {
	r := a.run(t, nil, "metax-ctk", "setup")
	for _, want := range []string{
		"next: sudo systemctl reload docker\n", // for the runtime: CDI is on in this version
		"next: sudo systemctl restart crio\n",
		"next: sudo metax-ctk setup\n",
		"ok         a container sees the GPUs by CDI: 17 device nodes\n", // Podman's: it has no daemon
	} {
		if !strings.Contains(r.stdout, want) {
			t.Errorf("want %q", want)
		}
	}
	if r.code != 1 || strings.Contains(r.stdout, "\nready\n") {
		t.Errorf("want exit code 1: %v", r)
	}
	if !strings.Contains(r.stderr, "docker: it has not read its configuration: systemd does not run here") {
		t.Errorf("want who has to reload docker: %v", r)
	}
	a.activate(t)
	r = a.run(t, nil, "metax-ctk", "setup")
	if strings.Count(r.stdout, "a container sees the GPUs by CDI: 17 device nodes") != 2 || strings.Contains(r.stdout, "next: sudo systemctl") {
		t.Errorf("set up and read: %v", r)
	}
	a.running(t)
	if r := a.run(t, nil, "metax-ctk", "setup", "--undo"); r.code != 0 {
		t.Errorf("--undo: %v", r)
	}
	a.unchanged(t, before, "--undo")
	a.activate(t)
	a.bare(t)
}

// auto is a machine with docker, CRI-O, Podman, and docker's containerd.
type auto struct {
	*host
	daemons map[string]*daemon
	client  *cri.Client
}

// does runs runtime configure for all engines, of which all but containerd are changed,
// and those that are broken.
func (a auto) does(t *testing.T, code int, options ...string) {
	t.Helper()
	r := a.run(t, nil, append([]string{"metax-ctk", "runtime", "configure", "--engine", "auto", "-o", "json"}, options...)...)
	if r.code != code {
		t.Fatalf("want exit code %d: %v", code, r)
	}
	var all struct {
		Items []struct {
			Engine, Aside, Error string
			Changes              []struct{ Path string }
		}
	}
	if err := json.Unmarshal([]byte(r.stdout), &all); err != nil {
		t.Fatalf("%v: %v", err, r)
	}
	got := map[string]string{}
	for _, e := range all.Items {
		switch {
		case e.Error != "":
			got[e.Engine] = "failed"
		case e.Aside != "":
			got[e.Engine] = "skipped"
		case len(e.Changes) > 0:
			got[e.Engine] = "changed"
		default:
			got[e.Engine] = "nothing to do"
		}
		if e.Engine == "containerd" && e.Aside != "" && !strings.Contains(e.Aside, "only Docker uses this containerd") {
			t.Errorf("containerd: the reason is %q", e.Aside)
		}
	}
	want := map[string]string{"docker": "changed", "containerd": "skipped", "crio": "changed", "podman": "changed"}
	if slices.Contains(options, "--remove") {
		want["containerd"] = "nothing to do" // though it could have been set up by name
	}
	if code != 0 {
		want["docker"] = "failed"
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%v: %s\n%v", options, d, r)
	}
}

// activate has the daemons read their configuration.
func (a auto) activate(t *testing.T) {
	t.Helper()
	for _, d := range a.daemons {
		d.stop(t)
		d.start(t)
	}
}

func (a auto) running(t *testing.T) {
	t.Helper()
	docker := shimDocker{a.host, append([]string{"/probe", "look"}, a.numbers(t)...)}
	a.sees(t, docker.look(t), nil)
	a.sees(t, docker.look(t, "--volume=/dev/null:"+deviceList+"2"), []int{2})
	a.crioRuns(t, a.client)
	p := podmanBy{a.host}
	const ask = "--annotation=metax-tech.com/gpu=4"
	p.sees(t, "metax", []int{4}, ask)
	// The hook is that of the stage that CRI-O also supports.
	p.sees(t, "", []int{4}, ask)
	p.sees(t, "", nil)
}

func (a auto) bare(t *testing.T) {
	t.Helper()
	docker := shimDocker{a.host, nil}
	if r := docker.run(t, a.inbox(t)); r.code == 0 || !strings.Contains(r.stderr, "metax") {
		t.Errorf("docker: want no runtime of this name: %v", r)
	}
	a.crioBare(t, a.client)
	p := podmanBy{a.host}
	if r := p.run(t, a.inbox(t), "metax"); r.code == 0 || !strings.Contains(r.stderr, "metax") {
		t.Errorf("podman: want no runtime of this name: %v", r)
	}
	p.sees(t, "", nil, "--annotation=metax-tech.com/gpu=4")
}

// oneBroken makes docker's configuration file invalid: the other engines are set up,
// and the command reports what failed.
func (a auto) oneBroken(t *testing.T) {
	text, err := os.ReadFile(a.Path("/etc/docker/daemon.json"))
	if err != nil {
		t.Fatal(err)
	}
	a.write(t, "/etc/docker/daemon.json", "{\n  \"debug\": tru\n}\n")
	broken := a.etc(t)
	a.does(t, 1)
	after := a.etc(t)
	var made []string
	for path := range after {
		if _, ok := broken[path]; !ok {
			made = append(made, path)
		}
	}
	if slices.Sort(made); len(made) == 0 {
		t.Error("nothing was set up")
	}
	t.Logf("made: %v", made)
	a.does(t, 1, "--remove")
	a.unchanged(t, broken, "--remove")
	a.write(t, "/etc/docker/daemon.json", string(text))
}
