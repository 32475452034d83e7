// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/test/needs"
	"github.com/metax-ctk/container-toolkit/test/testfile"
	"github.com/metax-ctk/container-toolkit/test/trusted"
)

const (
	quiet  = `{"ociVersion": "1.0.2", "linux": {}}`
	asking = `{"ociVersion": "1.0.2", "linux": {}, "annotations": {"metax-tech.com/gpu": "0,1"}}`
)

// scene is a trusted directory with settings and a bundle.
func scene(t *testing.T, config string) (dir string) {
	t.Helper()
	dir = trusted.Dir(t)
	if err := writeHost(dir, ""); err != nil {
		t.Fatal(err)
	}
	t.Setenv(configVariable, dir+"/config.toml")
	write(t, dir+"/bundle/config.json", config)
	return dir
}

func write(t *testing.T, path, text string) {
	t.Helper()
	testfile.Write(t, path, text, 0o640)
}

func read(t *testing.T, path string) string {
	t.Helper()
	return testfile.Text(t, path)
}

// TestSameProcess: the engine's child is the low-level runtime, so the engine can kill
// one that hangs, and a killed one leaves no process.
func TestSameProcess(t *testing.T) {
	for name, config := range map[string]string{"quiet": quiet, "asking": asking} {
		t.Run(name, func(t *testing.T) {
			dir := scene(t, config)
			t.Setenv("STUB_PID", "1")
			var out strings.Builder
			cmd := exec.Command("metax-runtime", "create", "--bundle", dir+"/bundle", "x")
			cmd.Stdout = &out
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			pid := cmd.Process.Pid
			if err := cmd.Wait(); err != nil {
				t.Fatal(err)
			}
			if want := fmt.Sprintf("\npid %d\n", pid); !strings.HasSuffix(out.String(), want) {
				t.Errorf("%q, want at its end %q", out.String(), want)
			}
		})
	}
}

// TestHangs: the engine's signal to its child ends a low-level runtime that hangs; no
// process is left, and the bundle has the requested edits.
func TestHangs(t *testing.T) {
	dir := scene(t, asking)
	testfile.Write(t, dir+"/bin/runc", "#!/bin/sh\necho \"$$ hangs\"\nwhile :; do read line; done\n", 0o755)
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		cmd := exec.Command("metax-runtime", "create", "--bundle", dir+"/bundle", "x")
		never, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		defer never.Close()
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		var said string
		if _, err := fmt.Fscanf(out, "%s hangs\n", &said); err != nil || said != fmt.Sprint(cmd.Process.Pid) {
			t.Errorf("process %d: %q, %v", cmd.Process.Pid, said, err)
		}
		if err := cmd.Process.Signal(signal); err != nil {
			t.Error(err)
		}
		_ = cmd.Wait() // its end is looked at
		if status := cmd.ProcessState.Sys().(syscall.WaitStatus); !status.Signaled() || status.Signal() != signal {
			t.Errorf("it ends with %v, want %v", cmd.ProcessState, signal)
		}
		if got := len(numbers(t, dir+"/bundle/config.json")); got != 3 {
			t.Errorf("the bundle has %d devices", got)
		}
		if names := list(t, dir+"/bundle"); names != "config.json" {
			t.Errorf("%s is left behind", names)
		}
	}
}

// TestInherits: everything that a process has besides its command line and environment
// (limits, signals, descriptors, directory) reaches the low-level runtime unchanged. Of
// ignored signals Go's runtime keeps only these two, as in runc; crun resets all for a
// container.
func TestInherits(t *testing.T) {
	for name, config := range map[string]string{"quiet": quiet, "asking": asking} {
		t.Run(name, func(t *testing.T) { testInherits(t, scene(t, config)) })
	}
}

func testInherits(t *testing.T, dir string) {
	const show = "#!/bin/sh\nulimit -Sa; ulimit -Ha; umask; pwd\n" +
		// Read without a child, for which the shell would block signals.
		"while read -r key value; do case $key in Uid:|Gid:|Groups:|Sig[BIC]*|Cap*|NoNewPrivs:|Seccomp:|THP*) echo \"$key $value\" ;; esac; done </proc/$$/status\n" +
		// Others than the process itself may read its slack only as root.
		"ls -l /proc/$$/fd\nfor file in oom_score_adj timerslack_ns; do read -r value </proc/$$/$file; echo $file $value; done\n"
	testfile.Write(t, dir+"/bin/runc", show, 0o755)
	var got [2]string
	for i, program := range []string{dir + "/bin/runc", "metax-runtime"} {
		out, err := exec.Command("sh", "-c", "ulimit -Sn 99; trap '' HUP INT; umask 027; cd "+dir+"; exec 3</dev/null 7</dev/zero\n"+
			program+" create --bundle "+dir+"/bundle x </dev/null 2>&1; exit $?").CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", program, err, out)
		}
		var lines []string
		for line := range strings.Lines(string(out)) {
			// Descriptors without the time at which they were looked at.
			if words := strings.Fields(line); len(words) > 3 && words[len(words)-2] == "->" {
				line, _, _ = strings.Cut(strings.Join(words[len(words)-3:], " "), "pipe:")
			}
			lines = append(lines, strings.TrimSpace(line))
		}
		got[i] = strings.Join(lines, "\n")
	}
	if d := cmp.Diff(got[0], got[1]); d != "" {
		t.Error(d)
	}
	if !strings.Contains(got[0], " 99\n") || !strings.Contains(got[0], "7 -> /dev/zero") {
		t.Errorf("the runtime does not see what is compared:\n%s", got[0])
	}
}

// TestMajorChanges: a device node whose number has changed gets its current number in
// the container, even if the bundle has the earlier one.
func TestMajorChanges(t *testing.T) {
	needs.Root(t, "to make device nodes")
	dir := scene(t, asking)
	node := dir + "/dev/renderD128"
	write(t, dir+"/cdi/gpu.json", strings.ReplaceAll(gpuSpec, "/dev/null", node))
	if err := os.Mkdir(dir+"/dev", 0o755); err != nil {
		t.Fatal(err)
	}
	for _, number := range []struct{ major, minor int }{{226, 128}, {226, 129}, {511, 129}} {
		os.Remove(node)
		if err := syscall.Mknod(node, syscall.S_IFCHR|0o666, number.major<<8|number.minor&0xff); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command("metax-runtime", "create", "--bundle", dir+"/bundle", "x").CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		got := numbers(t, dir+"/bundle/config.json")
		want := map[string]string{"/dev/dri/renderD128": fmt.Sprintf("%d:%d", number.major, number.minor), "/dev/dri/renderD129": "1:5", "/dev/mxcd": "1:7"}
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
	}
}
