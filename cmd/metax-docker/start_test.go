// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/node"
	"github.com/metax-ctk/container-toolkit/internal/sim"
	"github.com/metax-ctk/container-toolkit/internal/usage"
	"github.com/metax-ctk/container-toolkit/test/simtest"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

// desk is a host on which a container was made by flags for one GPU, and a client.
type desk struct {
	root   *hostfs.Root
	socket string
	client string
	nodes  []string // of the container
	labels map[string]string
	// terminal is whether a person reads what is said.
	terminal bool
}

// object is JSON.
type object = map[string]any

// inspection is what the client or its daemon says of the container.
func (d desk) inspection(t *testing.T) any {
	devices := []object{}
	var words []string
	var numbers []object
	for _, path := range d.nodes {
		devices = append(devices, object{"PathOnHost": d.root.Join(path)})
		words = append(words, "--device="+d.root.Join(path)+":"+path+":rw")
		if device, err := d.root.Device(path); err == nil {
			numbers = append(numbers, object{"path": path, "type": "c", "major": device.Major, "minor": device.Minor})
		} else {
			t.Fatal(err)
		}
	}
	id := strings.Repeat("a", 64)
	state := object{"Status": "exited", "StartedAt": "2026-11-21T12:55:00Z"}
	switch filepath.Base(d.client) {
	case "podman":
		return []object{{
			"Id": id, "Name": "job", "State": state, "HostConfig": object{"Devices": []object{}},
			"Config": object{"Image": "image", "Labels": d.labels, "CreateCommand": words},
		}}
	case "nerdctl":
		labels := object{"nerdctl/name": "job", "nerdctl/namespace": "default"}
		for k, v := range d.labels {
			labels[k] = v
		}
		return []object{{
			"ID": id, "Image": "image", "Labels": labels,
			"Spec": object{"linux": object{"devices": numbers}, "mounts": []object{{"source": d.root.Join("/opt/mxdriver")}}},
		}}
	}
	return object{
		"Id": id, "Name": "/job", "State": state,
		"Config": object{"Image": "image", "Labels": d.labels}, "HostConfig": object{"Devices": devices},
	}
}

// serve is the daemon of docker.
func (d *desk) serve(t *testing.T) {
	dir, err := os.MkdirTemp("", "d") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	d.socket = filepath.Join(dir, "s")
	l, err := net.Listen("unix", d.socket)
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/containers/json":
			io.WriteString(w, "[]")
		case "/containers/job/json":
			json.NewEncoder(w).Encode(d.inspection(t))
		case "/images/plain/json":
			io.WriteString(w, `{"Id":"sha256:aa","Os":"linux","Architecture":"amd64","Config":{"Env":["PATH=/bin"]}}`)
		default:
			http.NotFound(w, r)
		}
	})}
	go s.Serve(l)
	t.Cleanup(func() { s.Close() })
}

// run runs metax-docker; ran is the line that the client got.
func (d *desk) run(t *testing.T, args ...string) (code int, said, ran string) {
	var err strings.Builder
	env := map[string]string{
		"METAX_CTK_ROOT": d.root.Dir(), "METAX_CTK_DOCKER": d.client, "DOCKER_HOST": "unix://" + d.socket, "METAX_CTK_KUBELET": "off",
		"CONTAINERD_ADDRESS": "/none/c.sock", "HOME": d.root.Dir(),
	}
	code = run(deps{
		Args: args, Getenv: func(name string) string { return env[name] }, Out: io.Discard, Err: &err, Terminal: d.terminal, Mark: func() {},
		Exec: func(_ string, argv, _ []string) error {
			ran = strings.Join(argv, " ")
			return nil
		},
		Run: func(cmd *exec.Cmd) error {
			if strings.Contains(strings.Join(cmd.Args, " "), " inspect ") {
				return json.NewEncoder(cmd.Stdout).Encode(d.inspection(t))
			}
			return fmt.Errorf("no program but the client runs: %q", cmd.Args)
		},
	})
	return code, err.String(), ran
}

// record writes what metax-ctk cdi generate records.
func record(t *testing.T, tree sim.Tree, n gpu.Node) {
	text, err := json.Marshal(n)
	if err != nil {
		t.Fatal(err)
	}
	tree[strings.TrimPrefix(node.RecordPath, "/")] = sim.File{Data: string(text)}
}

// TestStartMoved starts containers after a boot that gave the nodes of GPU 2 to GPU 6.
func TestStartMoved(t *testing.T) {
	bin := t.TempDir()
	for _, client := range []string{"docker", "podman", "nerdctl"} {
		testfile.Write(t, filepath.Join(bin, client), "", 0o755)
	}
	before := simtest.Node(t, "c500-8")
	after := simtest.Node(t, "c500-8")
	after.GPUs[2].Nodes, after.GPUs[6].Nodes = before.GPUs[6].Nodes, before.GPUs[2].Nodes
	id := string(before.GPUs[2].UUID)
	const moved = "job: it was made for GPU 2 (0000:10:00.0), and its device nodes belong to GPU 6 (0000:37:00.0) now. To make it again: "
	for _, client := range []string{"docker", "podman", "nerdctl"} {
		for name, tc := range map[string]struct {
			node     gpu.Node
			recorded bool
			layout   bool
			verb     string
			service  string
			want     string
		}{
			"as before":      {before, true, true, "start", "", ""},
			"no record":      {before, false, false, "start", "", "start job: the UUIDs of the GPUs are not known since the boot, so it cannot be checked that its device nodes still belong to its GPUs: sudo metax-ctk cdi generate"},
			"moved":          {after, true, true, "start", "", "start " + moved + "metax-docker rm job, then metax-docker create --name=job --gpus='[" + id + "]' … image"},
			"after a boot":   {before, false, true, "start", "", ""},
			"moved, then":    {after, false, true, "start", "", "start " + moved + "metax-docker rm job, then metax-docker create --name=job --gpus='[" + id + "]' … image"},
			"moved, restart": {after, true, true, "restart", "", "restart " + moved + "metax-docker rm job, then metax-docker create --name=job --gpus='[" + id + "]' … image"},
			"moved, compose": {after, true, true, "start", "web", "start " + moved + "metax-docker compose up --force-recreate web"},
		} {
			t.Run(client+", "+name, func(t *testing.T) {
				tree, err := sim.HostTree(tc.node)
				if err != nil {
					t.Fatal(err)
				}
				if tc.recorded {
					record(t, tree, tc.node)
				}
				if !tc.layout {
					tree = simtest.WithoutLayout(tree)
				}
				d := desk{client: filepath.Join(bin, client), root: simtest.Write(t, tree), nodes: before.GPUs[2].Nodes, labels: map[string]string{
					usage.LeaseLabel: "0123456789ab", usage.GPUsLabel: "2", usage.IDsLabel: id,
				}}
				if tc.service != "" {
					d.labels[usage.ComposeService] = tc.service
				}
				d.serve(t)
				code, said, ran := d.run(t, tc.verb, "job")
				if tc.want == "" {
					if ran != client+" "+tc.verb+" job" {
						t.Errorf("code %d, ran %q, said %s", code, ran, said)
					}
					return
				}
				if code != exitOurs || ran != "" || said != "metax-docker: "+tc.want+"\n" {
					t.Errorf("code %d, ran %q, said\n%swant\nmetax-docker: %s", code, ran, said, tc.want)
				}
			})
		}
	}
}

// TestHint names --maca to a person who runs an image that names no MXMACA, and never beside a
// refusal.
func TestHint(t *testing.T) {
	bin := filepath.Join(t.TempDir(), "docker")
	testfile.Write(t, bin, "", 0o755)
	_, tree := simtest.Host(t, "c500-8")
	const hint = "metax-docker: the image names no MXMACA of its own. To use the host's: --maca (for every run, or to hide this line: maca.default in config.toml)\n"
	for name, tc := range map[string]struct {
		terminal bool
		gpus     string
		code     int
		hints    int
	}{
		"a person":          {true, "--gpus=[0]", exitNotExecutable, 1},
		"nobody":            {false, "--gpus=[0]", exitNotExecutable, 0},
		"a person, refused": {true, "--gpus=9", exitOurs, 0},
		"a person, --maca":  {true, "--gpus=[0],--maca=false", exitNotExecutable, 0},
		"a person, no GPU":  {true, "--rm", exitNotExecutable, 0},
	} {
		d := desk{client: bin, root: simtest.Write(t, tree), terminal: tc.terminal}
		d.serve(t)
		args := append(append([]string{"run"}, strings.Split(tc.gpus, ",")...), "plain")
		code, said, _ := d.run(t, args...)
		if code != tc.code || strings.Count(said, hint) != tc.hints {
			t.Errorf("%s: code %d, %s", name, code, said)
		}
	}
}
