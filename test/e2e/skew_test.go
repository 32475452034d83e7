// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/test/report"
	"github.com/metax-ctk/container-toolkit/test/sandbox"
)

// TestSkew upgrades the package from the version that stands for the first tag and goes back
// to it, while containers have GPUs by each way. At every step, those that were started before
// are entered, stopped and started again, nobody else gets their GPUs, and new ones start.
func TestSkew(t *testing.T) {
	first := firstPackage(t)
	for _, row := range []struct {
		client, runtime string
		layout          sandbox.Layout
	}{
		{"docker", "runc", sandbox.Hybrid},
		{"podman", "runc", sandbox.V2},
		{"podman", "crun", sandbox.V2},
	} {
		t.Run(row.client+"/"+row.runtime, func(t *testing.T) {
			t.Parallel()
			h := startHost(t, "sid", row.layout, onlyTools(t))
			s := &skew{desk: desk{host: h, client: row.client, root: nodeDir}, first: first}
			s.installNow(t) // the simulated driver is of one version
			h.simulate(t, "c500-8", nil)
			s.configureToolkit(t, row.runtime, "")
			switch row.client {
			case "docker":
				h.docker(t, "28.", map[string]any{"runtimes": map[string]any{"metax": map[string]any{"path": "/usr/bin/metax-runtime"}}})
			case "podman":
				h.podman(t, "5.", row.runtime)
				s.options = []string{"--cap-add=MKNOD", "--cgroup-parent=" + h.Cgroup()}
			}
			h.glibc(t, row.client)
			for _, step := range []struct {
				name string
				do   []func(*testing.T)
			}{
				{"the first version", []func(*testing.T){s.installFirst, s.generate}},
				{"programs of now, specs of the first", []func(*testing.T){s.installNow}},
				{"now", []func(*testing.T){s.generate}},
				{"programs of the first, specs of now", []func(*testing.T){s.installFirst}},
				{"the first version again", []func(*testing.T){s.generate}},
			} {
				t.Run(step.name, func(t *testing.T) {
					for _, do := range step.do {
						do(t)
					}
					s.advance(t)
				})
			}
			s.clear(t)
			if left := s.leases(t); slices.ContainsFunc(left, func(l lease) bool { return l.State != "over" }) {
				t.Errorf("leases are left behind: %+v", left)
			}
		})
	}
}

// skew is a host whose package changes while containers run.
type skew struct {
	desk
	first   string      // the package of the first version
	running []*survivor // those of the step before
	steps   int
}

// survivor is a container that was started by another version than the one that is installed.
type survivor struct {
	name   string
	client []string // the engine's client, with what it needs to start the container
	gpu    int
	in     inbox
	seen   seen // when it was started
}

// advance tries the containers of the step before, ends them, and starts others.
func (s *skew) advance(t *testing.T) {
	s.goOn(t, s.running)
	before := s.running
	s.running = s.begin(t, s.steps%2*nodeGPUs/2)
	s.steps++
	s.goOn(t, before)
	for _, c := range before {
		s.must(t, nil, s.client, "rm", "--force", c.name)
	}
	until(t, func() (bool, string) {
		o := s.ps(t)
		return slices.Equal(o.held(), gpusOf(s.running)), o.String()
	})
}

func gpusOf(all []*survivor) []int {
	var gpus []int
	for _, c := range all {
		gpus = append(gpus, c.gpu)
	}
	slices.Sort(gpus)
	return gpus
}

// goOn asserts that the containers have what they had: when they are entered, and when they are
// started again.
func (s *skew) goOn(t *testing.T, all []*survivor) {
	t.Helper()
	for _, c := range all {
		s.same(t, c)
		s.refused(t, []string{fmt.Sprintf("--gpus=[%d]", c.gpu)}, fmt.Sprintf("GPU %d is in use by container %s", c.gpu, c.name))
		s.must(t, nil, s.client, "stop", "--time=0", c.name)
		if c.client[0] == "metax-docker" {
			s.must(t, s.env(), "metax-docker", "start", c.name)
		} else {
			s.must(t, nil, append(slices.Clone(c.client), "start", c.name)...)
		}
		s.same(t, c)
		s.refused(t, []string{fmt.Sprintf("--gpus=[%d]", c.gpu)}, fmt.Sprintf("GPU %d is in use by container %s", c.gpu, c.name))
	}
}

// begin starts a container by each way, with GPUs from one on.
func (s *skew) begin(t *testing.T, gpu int) []*survivor {
	t.Helper()
	shim, runtime := []string{"docker"}, []string{"--runtime=metax"}
	if s.client == "podman" {
		shim, runtime = []string{"podman", "--runtime=/usr/bin/metax-runtime"}, nil
	}
	ways := []struct {
		name    string
		client  []string
		options func(gpu int) []string
	}{
		{"lease", []string{"metax-docker"}, func(gpu int) []string { return []string{fmt.Sprintf("--gpus=[%d]", gpu)} }},
		{"shim", shim, func(gpu int) []string { return append(runtime, fmt.Sprintf("--annotation=metax-tech.com/gpu=%d", gpu)) }},
		{"spec", []string{s.client}, func(gpu int) []string {
			return []string{fmt.Sprintf("--device=metax-tech.com/gpu=%d", gpu), "--device=metax-tech.com/maca=host"}
		}},
		{"hooks", []string{"podman", "--hooks-dir=/usr/share/metax-container-toolkit/hooks.d"}, func(gpu int) []string {
			return []string{fmt.Sprintf("--annotation=metax-tech.com/gpu=%d", gpu), "--annotation=metax-tech.com/maca=host"}
		}},
	}
	var all []*survivor
	for i, way := range ways {
		if way.name == "hooks" && s.client != "podman" {
			continue // docker knows none
		}
		c := &survivor{name: fmt.Sprintf("%s-%d", way.name, s.steps), client: way.client, gpu: gpu + i, in: s.inbox(t)}
		argv := append(slices.Clone(way.client), "run", "--detach", "--network=none", "--name="+c.name, "--volume="+c.in.dir+":"+report.Dir)
		argv = append(append(argv, s.options...), way.options(c.gpu)...)
		s.must(t, s.env(), append(argv, glibcRef)...)
		c.seen = s.enter(t, c)
		if way.name == "spec" || way.name == "hooks" {
			if c.seen.Loads != "/opt/maca/lib/"+report.Wanted {
				t.Errorf("%s: the dynamic linker finds %s at %q; the cache holds %q", c.name, report.Wanted, c.seen.Loads, c.seen.Cache)
			}
		}
		all = append(all, c)
	}
	return all
}

// same asserts that a process in the container sees what it saw at first.
func (s *skew) same(t *testing.T, c *survivor) {
	t.Helper()
	if diff := cmp.Diff(c.seen, s.enter(t, c)); diff != "" {
		t.Errorf("%s (-when it was started +now):\n%s", c.name, diff)
	}
}

// enter runs the probe in the container that runs, which has its GPU and no other.
func (s *skew) enter(t *testing.T, c *survivor) seen {
	t.Helper()
	s.must(t, nil, append([]string{s.client, "exec", c.name, "/probe", "look"}, s.numbers(t)...)...)
	r := c.in.report(t)
	s.sees(t, r, []int{c.gpu})
	return asSeen(r)
}

// generate writes the specs with the program that is installed.
func (s *skew) generate(t *testing.T) {
	t.Helper()
	for _, class := range []string{"gpu", "maca"} {
		s.must(t, nil, "metax-ctk", "--root", nodeDir, "cdi", "generate", "--class", class,
			"--hook", "/usr/bin/metax-hook", "--output", "/run/cdi/metax-tech.com-"+class+".json")
	}
}

// installFirst installs the package of the first version.
func (s *skew) installFirst(t *testing.T) {
	t.Helper()
	s.install(t, s.first, "v0.0.1 ")
}

// installNow installs what the package of this source tree has for containers.
func (s *skew) installNow(t *testing.T) {
	t.Helper()
	from := t.TempDir()
	programs, err := filepath.Glob(filepath.Join(fixed.bin, "metax-*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, program := range programs {
		to := "usr/bin/"
		if filepath.Base(program) == "metax-sim-smi" {
			to = "usr/libexec/metax-container-toolkit/"
		}
		copyFile(t, program, filepath.Join(from, to, filepath.Base(program)), 0o755)
	}
	hooks, err := filepath.Glob(filepath.Join("..", "..", "packaging", "hooks.d", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, hook := range hooks {
		copyFile(t, hook, filepath.Join(from, "usr/share/metax-container-toolkit/hooks.d", filepath.Base(hook)), 0o644)
	}
	s.install(t, from, "")
}

// install puts the files of a tree into the host as a package manager does: each gets its name
// in one moment. The program then says that it is of the version.
func (s *skew) install(t *testing.T, from, version string) {
	t.Helper()
	for _, dir := range []string{"usr/bin", "usr/libexec/metax-container-toolkit", "usr/share/metax-container-toolkit/hooks.d"} {
		entries, err := os.ReadDir(filepath.Join(from, dir))
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		for _, entry := range entries {
			info, err := entry.Info()
			if err != nil {
				t.Fatal(err)
			}
			to := s.Path(filepath.Join("/", dir, entry.Name()))
			copyFile(t, filepath.Join(from, dir, entry.Name()), to+".new", info.Mode().Perm())
			if err := os.Rename(to+".new", to); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got := s.must(t, nil, "metax-ctk", "version"); version != "" && !strings.HasPrefix(got, "metax-ctk "+version) {
		t.Fatalf("metax-ctk says it is %s, want %s", got, version)
	}
}

func copyFile(t *testing.T, from, to string, mode os.FileMode) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(to), 0o755)
	}
	if err == nil {
		err = os.WriteFile(to, text, mode)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// firstPackage is the unpacked package of the version that stands for the first tag.
func firstPackage(t *testing.T) string {
	t.Helper()
	run := func(argv ...string) string {
		cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
		var said strings.Builder
		cmd.Stderr = &said
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v\n%s", strings.Join(argv, " "), err, said.String())
		}
		return strings.TrimSpace(string(out))
	}
	dir := t.TempDir()
	run("dpkg-deb", "-x", filepath.Join(run("../first/get", "packages"), "metax-container-toolkit.deb"), dir)
	return dir
}

// onlyTools is a directory with what the tests bring into a host, without the product.
func onlyTools(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	entries, err := os.ReadDir(fixed.bin)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if !strings.HasPrefix(entry.Name(), "metax-") {
			copyFile(t, filepath.Join(fixed.bin, entry.Name()), filepath.Join(dir, entry.Name()), 0o755)
		}
	}
	return dir
}
