// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/test/image"
	"github.com/metax-ctk/container-toolkit/test/report"
	"github.com/metax-ctk/container-toolkit/test/sandbox"
)

const (
	// glibcRef is an image with a dynamic linker.
	glibcRef = "localhost/metax-e2e/glibc:1"
	// hooksDir is where the tests keep hook definitions, a folder for each stage.
	hooksDir = "/etc/metax-hooks"
)

// seen is what a process sees of GPUs and MXMACA, without what differs from one container to
// the next for other reasons.
type seen struct {
	Nodes  []report.Node // the GPUs', as they open; without owner and mode, which engines choose
	Made   []report.Node // those of all GPUs, made inside
	Groups []int
	Env    []string
	Mounts []report.Mount
	SMI    string
	Links  []string
	Cache  []string
	Loads  string
}

// TestWays has the same request come in by every way, and demands the same result. Podman is
// the engine that has them all, with either low-level runtime.
func TestWays(t *testing.T) {
	for _, runtime := range []string{"runc", "crun"} {
		for _, layout := range []sandbox.Layout{sandbox.V1, sandbox.V2} {
			for _, userns := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%s/userns=%t", runtime, layout, userns), func(t *testing.T) {
					t.Parallel()
					h := newHost(t, "sid", layout)
					h.podman(t, "5.", runtime)
					w := h.ways(t, runtime, userns)
					t.Run("GPUs", w.gpus)
					t.Run("GPUs and MXMACA", w.software)
				})
			}
		}
	}
}

// ways drives Podman.
type ways struct {
	*host
	runtime string
	options []string
	userns  bool
}

// configureToolkit writes the toolkit's configuration.
func (h *host) configureToolkit(t *testing.T, runtime, more string) {
	t.Helper()
	h.write(t, "/etc/metax-container-toolkit/config.toml", fmt.Sprintf("[runtime]\nruntimes = [%q]\n%s", runtime, more))
}

// ways prepares the machine for every way.
func (h *host) ways(t *testing.T, runtime string, userns bool) ways {
	t.Helper()
	h.glibc(t, "podman")
	h.place(t)
	w := ways{host: h, runtime: runtime, options: []string{"--cap-add=MKNOD", "--cgroup-parent=" + h.Cgroup()}, userns: userns}
	if userns {
		w.options = append(w.options, "--uidmap=0:100000:65536", "--gidmap=0:100000:65536")
		// Nobody in there is in a group of the host, so only what is open to everyone opens.
		h.open(t)
	}
	for _, class := range []string{"gpu", "maca"} {
		h.must(t, nil, "metax-ctk", "--root", nodeDir, "cdi", "generate", "--class", class,
			"--engine-root", "/", "--hook", sandbox.BinDir+"/metax-hook", "--output", "/run/cdi/metax-tech.com-"+class+".json")
	}
	h.configureToolkit(t, runtime, "")
	for _, stage := range []string{"precreate", "prestart"} {
		h.hooks(t, stage)
	}
	return w
}

// place puts the node's devices and software where a real host has them: in a user namespace a
// runtime mounts the node of the path that the container is to have. Its sysfs stays where it
// is; no user namespace may mount one where another lies over the machine's.
func (h *host) place(t *testing.T) {
	t.Helper()
	for _, dir := range []string{"/dev/dri", "/opt"} {
		if err := os.MkdirAll(h.Path(dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range sharedNodes {
		h.write(t, path, "")
	}
	for _, path := range append([]string{"/opt", "/dev/dri"}, sharedNodes...) {
		h.must(t, nil, "probe", "bind", nodeDir+path, path)
	}
}

// open makes the nodes of the machine open to everyone.
func (h *host) open(t *testing.T) {
	t.Helper()
	paths := slices.Clone(sharedNodes)
	for _, g := range h.gpus {
		paths = append(paths, g.Nodes...)
	}
	for _, p := range paths {
		if err := os.Chmod(h.Path(nodeDir+p), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// hooks installs the product's hook definition for a stage, with the program where the tests
// have it.
func (h *host) hooks(t *testing.T, stage string) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join("..", "..", "packaging", "hooks.d", "metax-"+stage+"-*.json"))
	if err != nil || len(found) != 1 {
		t.Fatalf("definitions of hooks for %s: %q (%v)", stage, found, err)
	}
	text, err := os.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	h.write(t, filepath.Join(hooksDir, stage, filepath.Base(found[0])), strings.ReplaceAll(string(text), "/usr/bin/metax-hook", sandbox.BinDir+"/metax-hook"))
}

// glibc gives the engine an image with the dynamic linker of the machine's own engines.
func (h *host) glibc(t *testing.T, client string) {
	t.Helper()
	files := map[string][]byte{"/etc/ld.so.conf": []byte("include /etc/ld.so.conf.d/*.conf\n")}
	for to, from := range map[string]string{
		"/probe":        filepath.Join(fixed.bin, "probe"),
		report.Linker:   h.Path("/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2"),
		report.CLibrary: h.Path("/usr/lib/x86_64-linux-gnu/libc.so.6"),
	} {
		data, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		files[to] = data
	}
	archive, err := os.Create(h.Path("/tmp/glibc.tar"))
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	if _, err := (image.Image{
		Ref: glibcRef, Files: files, Cmd: []string{"/probe", "pause"}, Env: []string{"PATH=/usr/local/bin:/usr/bin:/bin"},
		Dirs: []string{"/dev", "/etc", "/etc/ld.so.conf.d", "/opt", "/proc", "/sys", "/tmp", "/usr", "/usr/lib"},
	}).WriteTo(archive); err != nil {
		t.Fatal(err)
	}
	h.must(t, nil, client, "load", "--quiet", "--input", "/tmp/glibc.tar")
}

// look runs the probe in a container, with the words before "run" and the options after
// it.
func (w ways) look(t *testing.T, program, options []string) seen {
	t.Helper()
	in := w.inbox(t)
	argv := append(slices.Clone(program), "run", "--rm", "--network=none", "--volume", in.dir+":"+report.Dir)
	argv = append(append(append(argv, w.options...), options...), glibcRef, "/probe", "look")
	w.must(t, []string{"METAX_CTK_ROOT=" + nodeDir, "METAX_CTK_DOCKER=podman"}, append(argv, w.numbers(t)...)...)
	return asSeen(in.report(t))
}

// asSeen is what of a report does not differ from one container to the next for other reasons.
func asSeen(r report.Report) seen {
	s := seen{Made: r.Made, Groups: r.Groups, Mounts: r.Mounts, SMI: r.SMI, Links: r.Links, Cache: r.Cache, Loads: r.Loads}
	for _, n := range r.Nodes {
		if !engineNode(n.Path) {
			n.Mode, n.Owner = "", ""
			s.Nodes = append(s.Nodes, n)
		}
	}
	for _, v := range r.Env {
		if name, _, _ := strings.Cut(v, "="); name != "HOSTNAME" {
			s.Env = append(s.Env, v)
		}
	}
	return s
}

func (w ways) cdi(t *testing.T, devices ...string) seen {
	t.Helper()
	var options []string
	for _, d := range devices {
		options = append(options, "--device=metax-tech.com/"+d)
	}
	return w.look(t, []string{"podman"}, options)
}

// annotated asks by annotations, "gpu=1,2".
func (w ways) annotated(t *testing.T, program []string, annotations ...string) seen {
	t.Helper()
	var options []string
	for _, a := range annotations {
		options = append(options, "--annotation=metax-tech.com/"+a)
	}
	return w.look(t, program, options)
}

var (
	shim      = []string{"podman", "--runtime=" + sandbox.BinDir + "/metax-runtime"}
	precreate = []string{"podman", "--hooks-dir=" + hooksDir + "/precreate"}
	prestart  = []string{"podman", "--hooks-dir=" + hooksDir + "/prestart"}
)

// gpus requests two GPUs.
func (w ways) gpus(t *testing.T) {
	want := w.cdi(t, "gpu=1", "gpu=2")
	w.check(t, want)
	same(t, "flags", w.plain(w.told(want, 1, 2)), w.look(t, []string{"metax-docker"}, []string{"--inject=flags", "--gpus=1,2"}))
	same(t, "shim", w.told(want, 1, 2), w.annotated(t, shim, "gpu=1,2"))
	same(t, "precreate", w.told(want, 1, 2), w.annotated(t, precreate, "gpu=1,2"))
	same(t, "prestart", w.late(want), w.annotated(t, prestart, "gpu=1,2"))
}

// software requests a GPU and the host's MXMACA. Flags cannot request the latter.
func (w ways) software(t *testing.T) {
	want := w.cdi(t, "gpu=1", "maca=host")
	if want.Loads != "/opt/maca/lib/"+report.Wanted {
		t.Errorf("the dynamic linker finds %s at %q; the cache holds %q", report.Wanted, want.Loads, want.Cache)
	}
	if !slices.Contains(want.Links, "/opt/maca → /opt/maca-3.3.0.15") {
		t.Errorf("links in /opt are %q", want.Links)
	}
	for _, v := range []string{"MACA_PATH=/opt/maca", "MACA_CLANG_PATH=/opt/maca/mxgpu_llvm/bin", "CUCC_PATH=/opt/maca/tools/cu-bridge"} {
		if !slices.Contains(want.Env, v) {
			t.Errorf("the environment lacks %s: %q", v, want.Env)
		}
	}
	same(t, "shim", w.told(want, 1), w.annotated(t, shim, "gpu=1", "maca=host"))
	same(t, "precreate", w.told(want, 1), w.annotated(t, precreate, "gpu=1", "maca=host"))
	same(t, "prestart", w.late(want), w.annotated(t, prestart, "gpu=1", "maca=host"))
	w.configureToolkit(t, w.runtime, "[maca]\ndefault = \"auto\"\n")
	same(t, "shim with maca.default", w.told(want, 1), w.annotated(t, shim, "gpu=1"))
}

// told is what the toolkit's own programs tell of the GPUs; an engine that applies several CDI
// devices could tell of the last only.
func (w ways) told(s seen, gpus ...int) seen {
	var uuids, indices []string
	for _, g := range gpus {
		uuids, indices = append(uuids, w.host.gpus[g].UUID), append(indices, fmt.Sprint(g))
	}
	s.Env = append(slices.Clone(s.Env), "METAX_GPU_INDICES="+strings.Join(indices, ","), "METAX_GPU_UUIDS="+strings.Join(uuids, ","))
	slices.Sort(s.Env)
	return s
}

// plain is what docker's flags can inject: they cannot express nosuid and nodev, and mx-smi
// gets its name by PATH, as they make no links.
func (w ways) plain(s seen) seen {
	s.Env = slices.Clone(s.Env)
	for i, v := range s.Env {
		if strings.HasPrefix(v, "PATH=") {
			s.Env[i] = v + ":/opt/mxdriver/bin"
		}
	}
	s.Mounts = slices.Clone(s.Mounts)
	for i := range s.Mounts {
		s.Mounts[i].Options = []string{"ro"}
	}
	return s
}

// late is what a hook that runs after the runtime has read its configuration cannot
// inject: groups and variables.
func (w ways) late(s seen) seen {
	s.Groups = slices.DeleteFunc(slices.Clone(s.Groups), func(gid int) bool { return gid == videoGID })
	s.Env = slices.DeleteFunc(slices.Clone(s.Env), func(v string) bool { return strings.HasPrefix(v, "MACA_") || strings.HasPrefix(v, "CUCC_PATH=") })
	if len(s.Groups) == 0 {
		s.Groups = nil
	}
	return s
}

// check checks the result with which the others are compared.
func (w ways) check(t *testing.T, s seen) {
	t.Helper()
	want := append(slices.Concat(w.host.gpus[1].Nodes, w.host.gpus[2].Nodes), sharedNodes...)
	slices.Sort(want)
	var got []string
	for _, n := range s.Nodes {
		got = append(got, n.Path)
		if err := n.Verdict(); err != nil {
			t.Errorf("%s: %v", n.Path, err)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("device nodes inside (-want +got):\n%s", diff)
	}
	if s.SMI != "/opt/mxdriver/bin/mx-smi" {
		t.Errorf("mx-smi is %q", s.SMI)
	}
	if diff := cmp.Diff([]report.Mount{{Path: "/opt/mxdriver", Options: []string{"ro", "nosuid", "nodev"}}}, s.Mounts); diff != "" {
		t.Errorf("mounts (-want +got):\n%s", diff)
	}
	for i, made := range s.Made {
		gpu := i / 2
		switch {
		case w.userns && made.Mknod != "EPERM":
			t.Errorf("in a user namespace, mknod gives %q", made.Mknod)
		case !w.userns && (gpu == 1 || gpu == 2) != (made.Verdict() == nil):
			t.Errorf("a node of GPU %d made inside: %v", gpu, made.Verdict())
		}
	}
}

func same(t *testing.T, way string, want, got seen) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("by %s it is not as by CDI (-CDI +%s):\n%s", way, way, diff)
	}
}
