// SPDX-License-Identifier: Apache-2.0

package devcgroup

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/test/mountns"
	"github.com/metax-ctk/container-toolkit/test/needs"
)

// The test program runs itself again: once in a mount namespace of its own, where the tests
// may mount cgroups, and as the process that a cgroup rules over.
const (
	openVar = "DEVCGROUP_TEST_OPEN" // cgroup directory, then paths, one a line

	// atOnce keeps the race detector from waiting a second at every exit.
	atOnce = "GORACE=atexit_sleep_ms=0"
)

func TestMain(m *testing.M) {
	if what := os.Getenv(openVar); what != "" {
		opener(strings.Split(what, "\n"))
	}
	os.Exit(mountns.Run(m))
}

// opener joins a cgroup, opens the nodes for reading, for writing and for both, makes them
// anew, and prints what came of it.
func opener(args []string) {
	answers := map[string]string{}
	say := func(what string, err error) {
		answers[what] = "allowed"
		switch {
		case errors.Is(err, unix.EPERM):
			answers[what] = "denied"
		case err != nil && !errors.Is(err, unix.ENXIO): // nothing behind the node, but the cgroup let us ask
			answers[what] = err.Error()
		}
	}
	if err := os.WriteFile(filepath.Join(args[0], "cgroup.procs"), []byte("0"), 0); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for _, node := range args[1:] {
		for word, flag := range map[string]int{"r": unix.O_RDONLY, "w": unix.O_WRONLY, "rw": unix.O_RDWR} {
			fd, err := unix.Open(node, flag|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
			if err == nil {
				unix.Close(fd)
			}
			say(filepath.Base(node)+" "+word, err)
		}
		var st unix.Stat_t
		if err := unix.Stat(node, &st); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		err := unix.Mknod(node+".made", st.Mode, int(st.Rdev))
		os.Remove(node + ".made")
		say(filepath.Base(node)+" m", err)
	}
	json.NewEncoder(os.Stdout).Encode(answers)
	os.Exit(0)
}

// open runs the opener in a cgroup.
func open(t *testing.T, dir string, nodes []string) map[string]string {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), openVar+"="+dir+"\n"+strings.Join(nodes, "\n"), atOnce)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var answers map[string]string
	if err := json.Unmarshal(out, &answers); err != nil {
		t.Fatal(err)
	}
	return answers
}

func needRoot(t *testing.T) {
	t.Helper()
	needs.Root(t, "for cgroups and device nodes")
}

// nodes makes nodes that no driver stands behind: opening one fails with ENXIO where the
// cgroup allows it. The first two are GPUs' numbers, so is the last, which is a block device.
func nodes(t *testing.T) []string {
	t.Helper()
	dir := t.TempDir()
	var list []string
	for _, n := range []struct {
		name         string
		mode         uint32
		major, minor uint32
	}{
		{"render128", unix.S_IFCHR, 226, 128},
		{"render129", unix.S_IFCHR, 226, 129},
		{"mxcd", unix.S_IFCHR, 511, 128},
		{"block128", unix.S_IFBLK, 226, 128},
	} {
		path := filepath.Join(dir, n.name)
		if err := unix.Mknod(path, n.mode|0o666, int(unix.Mkdev(n.major, n.minor))); err != nil {
			t.Fatal(err)
		}
		list = append(list, path)
	}
	return list
}

// group mounts a hierarchy and makes a cgroup in it, removed with the test.
func group(t *testing.T, v Version) Group {
	t.Helper()
	needRoot(t)
	root := t.TempDir()
	fstype, options := "cgroup2", ""
	if v == V1 {
		fstype, options = "cgroup", "devices"
	}
	if err := unix.Mount("none", root, fstype, 0, options); err != nil {
		if v == V1 {
			t.Skipf("this kernel has no device cgroup of version 1: %v", err)
		}
		t.Fatalf("mount %s: %v", fstype, err)
	}
	t.Cleanup(func() { unix.Unmount(root, unix.MNT_DETACH) })
	dir, err := os.MkdirTemp(root, "metax-devcgroup-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.Remove(dir); err != nil {
			t.Error(err)
		}
	})
	return Group{v, dir}
}
