// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/test/machine"
	"github.com/metax-ctk/container-toolkit/test/sandbox"
)

const (
	// nodeDir is the directory of a host's simulated node.
	nodeDir = "/node"
	// videoGID owns the device nodes, as group video does on Debian.
	videoGID = 44
	// nodeGPUs is how many GPUs the simulated node has.
	nodeGPUs = 8
	// patience bounds any one command; it does not assert speed.
	patience = 2 * time.Minute
)

// host is one machine of the matrix: a sandbox with engines and a simulated node.
type host struct {
	*sandbox.Sandbox
	gpus   []gpuFacts
	kernel string // of test/oldkernel, which its programs find; "" is the machine's
	stock  bool   // Docker chooses its image store itself
}

// Command is that of the sandbox, on the host's kernel.
func (h *host) Command(ctx context.Context, env []string, name string, args ...string) *exec.Cmd {
	if h.kernel == "" {
		return h.Sandbox.Command(ctx, env, name, args...)
	}
	return h.Sandbox.Command(ctx, env, "withkernel", append([]string{h.kernel, name}, args...)...)
}

// gpuFacts is what the tests need of a GPU in Node JSON.
type gpuFacts struct {
	Index int      `json:"index"`
	UUID  string   `json:"uuid"`
	Nodes []string `json:"nodes"`
}

var hosts atomic.Int32

// newHost makes a machine from the engines of a Debian suite, whose node's CDI spec is
// generated with the options. It ends with the test.
func newHost(t *testing.T, suite string, layout sandbox.Layout, options ...string) *host {
	t.Helper()
	h := startHost(t, suite, layout, fixed.bin)
	h.simulate(t, "c500-8", options)
	return h
}

// Suites with an engine of test/e2e/build in place of their own.
const (
	docker29     = "docker29"
	containerd16 = "containerd1.6"
	containerd24 = "containerd2.4"
)

// replaced has, for each of them, the Debian suite, and the program of BuiltDir for a name.
var replaced = map[string]struct {
	suite    string
	programs map[string]string
}{
	docker29:     {"sid", map[string]string{"docker": "docker", "dockerd": "dockerd"}},
	containerd16: {"bookworm", map[string]string{"containerd": "containerd-1.6"}},
	containerd24: {"sid", map[string]string{"containerd": "containerd"}},
}

// startHost makes a machine without a node; its programs are those of the directory and the
// engines.
func startHost(t *testing.T, suite string, layout sandbox.Layout, bin string) *host {
	t.Helper()
	if err := layout.Available(); err != nil {
		t.Skip("this machine cannot have the cgroup layout: ", err)
	}
	sb, err := sandbox.Start(sandbox.Config{
		Root:   filepath.Join(fixed.roots, cmp.Or(replaced[suite].suite, suite)),
		Bin:    bin,
		Built:  filepath.Join(fixed.built, "bin"),
		Layout: layout,
		Cgroup: fmt.Sprintf("metax-e2e-%d-%d", os.Getpid(), hosts.Add(1)),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := sb.Close(); err != nil {
			t.Error(err)
		}
	})
	h := &host{Sandbox: sb, stock: suite == docker29}
	for name, program := range replaced[suite].programs {
		h.link(t, sandbox.BuiltDir+"/"+program, "/usr/local/bin/"+name)
	}
	h.write(t, "/etc/passwd", "root:x:0:0:root:/root:/bin/sh\n")
	h.write(t, "/etc/group", "root:x:0:\nvideo:x:44:\n")
	h.write(t, "/etc/hosts", "127.0.0.1 localhost\n")
	h.write(t, "/etc/resolv.conf", "")
	h.fitRuntimes(t)
	return h
}

// simulate makes the node, by a name or a file of it, and its CDI spec. Its device nodes are
// root's and group video's alone, as a distribution's udev rules make them.
func (h *host) simulate(t *testing.T, name string, options []string) {
	t.Helper()
	h.must(t, nil, "metax-ctk", "sim", "create", name, nodeDir)
	dev := h.Path(nodeDir + "/dev")
	err := filepath.WalkDir(dev, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Type()&fs.ModeDevice == 0 {
			return err
		}
		return errors.Join(os.Chown(path, 0, videoGID), os.Chmod(path, 0o660))
	})
	if err != nil {
		t.Fatal(err)
	}
	generate := []string{"metax-ctk", "--root", nodeDir, "cdi", "generate", "--output", "/run/cdi/metax-tech.com-gpu.json"}
	h.must(t, nil, append(generate, options...)...)
	var node struct {
		GPUs []gpuFacts `json:"gpus"`
	}
	h.decode(t, &node, "metax-ctk", "--root", nodeDir, "device", "list", "-o", "json")
	if len(node.GPUs) != nodeGPUs {
		t.Fatalf("the simulated node has %d GPUs, want %d", len(node.GPUs), nodeGPUs)
	}
	h.gpus = node.GPUs
}

// pick asks the product for n GPUs and returns their indices.
func (h *host) pick(t *testing.T, n int) []int {
	t.Helper()
	var picked struct {
		GPUs []int `json:"gpus"`
	}
	h.decode(t, &picked, "metax-ctk", "--root", nodeDir, "pick", fmt.Sprint(n), "-o", "json")
	if len(picked.GPUs) != n {
		t.Fatalf("pick %d gave %d GPUs", n, len(picked.GPUs))
	}
	return picked.GPUs
}

// cdiNames are the qualified CDI names of GPUs, by UUID as the product names them.
func (h *host) cdiNames(gpus []int) []string {
	var names []string
	for _, g := range gpus {
		names = append(names, "metax-tech.com/gpu="+h.gpus[g].UUID)
	}
	return names
}

// without does something while a node of the simulated machine is away.
func (h *host) without(t *testing.T, path string, do func()) {
	t.Helper()
	at := h.Path(nodeDir + path)
	if err := os.Rename(at, at+".away"); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := os.Rename(at+".away", at); err != nil {
			t.Fatal(err)
		}
	}()
	do()
}

// number is the device number of a node of the simulated machine.
func (h *host) number(t *testing.T, path string) (major, minor uint32) {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Stat(h.Path(nodeDir+path), &st); err != nil {
		t.Fatalf("stat %s of the simulated node: %v", path, err)
	}
	return unix.Major(st.Rdev), unix.Minor(st.Rdev)
}

// numbers are the device numbers of all GPUs' own nodes, as arguments for the probe.
func (h *host) numbers(t *testing.T) []string {
	t.Helper()
	var list []string
	for _, gpu := range h.gpus {
		for _, path := range gpu.Nodes {
			major, minor := h.number(t, path)
			list = append(list, fmt.Sprintf("%d:%d", major, minor))
		}
	}
	return list
}

// fitRuntimes puts the tests' low-level runtime in front of runc and crun on a machine
// that lacks what engines need, and logs that.
func (h *host) fitRuntimes(t *testing.T) {
	t.Helper()
	lacks, err := machine.FitRuntimes(h.Path("/"), filepath.Join(fixed.bin, "lowlevel"))
	if err != nil {
		t.Fatal(err)
	}
	if lacks != "" {
		t.Logf("low-level runtime in front of runc and crun: this machine has %s", lacks)
	}
}

func (h *host) write(t *testing.T, path, text string) {
	t.Helper()
	if err := h.WriteFile(path, text); err != nil {
		t.Fatal(err)
	}
}

// result is how a command ended.
type result struct {
	stdout, stderr string
	code           int
}

func (r result) String() string {
	return fmt.Sprintf("exit code %d\nstdout: %s\nstderr: %s", r.code, r.stdout, r.stderr)
}

// run runs a command inside to its end.
func (h *host) run(t *testing.T, env []string, argv ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	r, err := h.try(ctx, env, argv...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// try is run for a goroutine, which must not end the test.
func (h *host) try(ctx context.Context, env []string, argv ...string) (result, error) {
	cmd := h.Command(ctx, env, argv[0], argv[1:]...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		return result{}, fmt.Errorf("run %s: %w", strings.Join(argv, " "), err)
	}
	if ctx.Err() != nil {
		return result{}, fmt.Errorf("%s does not end\n%s", strings.Join(argv, " "), stderr.String())
	}
	return result{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}, nil
}

// must runs a command that has to succeed and returns its standard output.
func (h *host) must(t *testing.T, env []string, argv ...string) string {
	t.Helper()
	r := h.run(t, env, argv...)
	if r.code != 0 {
		t.Fatalf("%s: %v", strings.Join(argv, " "), r)
	}
	return r.stdout
}

func (h *host) decode(t *testing.T, value any, argv ...string) {
	t.Helper()
	if err := json.Unmarshal([]byte(h.must(t, nil, argv...)), value); err != nil {
		t.Fatalf("read the output of %s: %v", strings.Join(argv, " "), err)
	}
}

// assertVersion states which engine a row tests, so that no row tests another by accident.
func assertVersion(t *testing.T, engine, got, want string) {
	t.Helper()
	t.Logf("engine: %s %s", engine, got)
	if !strings.HasPrefix(got, want) {
		t.Fatalf("%s is %s, this row wants %s*: its root is stale, or the row is", engine, got, want)
	}
}
