// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// cards are the nodes of the two GPUs, ascending by PCI address.
var cards []string

func main() {
	if filepath.Base(os.Args[0]) == "podman" {
		return // the engine of a start: it makes no container
	}
	if len(os.Args) > 1 {
		check(hold(os.Args[1], os.Args[2]), os.Args[1])
		return
	}
	defer unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
	prepare()
	confirm()
	unseen()
	replace()
	heldUp()
	without()
	fmt.Println("test/drm: passed")
}

// fail says why, and ends the machine.
func fail(format string, a ...any) {
	fmt.Printf("test/drm: "+format+"\n", a...)
	for _, args := range [][]string{{"device", "list"}, {"ps"}} {
		out, err := ctk("metax-ctk", args...)
		fmt.Println(out, err)
	}
	state, _ := os.ReadFile(statePath)
	fmt.Printf("%s\n", state)
	unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
}

func check(err error, what string) {
	if err != nil {
		fail("%s: %v", what, err)
	}
}

// prepare mounts what a host has, loads the modules, and gives the cards the vendor's numbers.
func prepare() {
	for _, m := range [][3]string{
		{"proc", "/proc"},
		{"sysfs", "/sys"},
		{"devtmpfs", "/dev"},
		{"tmpfs", "/run"},
		{"tmpfs", "/tmp"},
		{"debugfs", "/sys/kernel/debug"},
	} {
		check(os.MkdirAll(m[1], 0o755), "make "+m[1])
		check(unix.Mount(m[0], m[1], m[0], 0, ""), "mount "+m[1])
	}
	modules, err := filepath.Glob("/modules/*.ko")
	check(err, "list modules")
	for range modules { // a module needs others
		for _, m := range modules {
			f, err := os.Open(m)
			check(err, "open a module")
			unix.FinitModule(int(f.Fd()), "", 0) //nolint:errcheck,gosec // without the cards the next step fails
			f.Close()
		}
	}
	devices, err := filepath.Glob("/sys/bus/pci/devices/*/drm/card*")
	check(err, "find cards")
	if len(devices) != 2 {
		fail("there are %d cards, want 2", len(devices))
	}
	for _, d := range devices {
		cards = append(cards, "/dev/dri/"+filepath.Base(d))
		for name, text := range map[string]string{"vendor": "0x9999\n", "device": "0x4001\n"} {
			disguise(filepath.Join(filepath.Dir(filepath.Dir(d)), name), text)
		}
	}
}

// disguise shows the text in place of a file.
func disguise(path, text string) {
	f, err := os.CreateTemp("/tmp", "")
	check(err, "make a file")
	_, err = f.WriteString(text)
	check(err, "write a file")
	check(f.Chmod(0o444), "publish a file")
	f.Close()
	check(unix.Mount(f.Name(), path, "", unix.MS_BIND, ""), "mount over "+path)
}

// ctk runs a program of the toolkit and returns all that it prints.
func ctk(name string, args ...string) (string, error) {
	cmd := exec.Command("/bin/"+name, args...)
	cmd.Env = []string{"PATH=/bin", "METAX_CTK_DOCKER=/bin/podman", "HOME=/tmp"}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// start starts a container, and returns how the client ended.
func start(gpus string) error {
	out, err := ctk("metax-docker", "run", "--inject=flags", "--gpus="+gpus, "image")
	if err != nil {
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(out))
	}
	return nil
}

// state is what the test reads of the state file.
type state struct {
	LookedAt          time.Duration
	Lists, Emptied    []struct{ ID uint64 }
	ListsContradicted bool
	Processes         []struct{ Command string }
	Leases            []struct{ GPUs []string }
}

const statePath = "/run/metax-container-toolkit/leases/leases.json"

func readState() (s state) {
	text, err := os.ReadFile(statePath)
	check(err, "read the state")
	check(json.Unmarshal(text, &s), "read the state")
	return s
}

// gc looks at all processes.
func gc() state {
	out, err := ctk("metax-ctk", "lease", "gc")
	check(err, "lease gc: "+out)
	return readState()
}

// holder is a process that has a GPU open.
type holder struct{ *exec.Cmd }

// open starts a process that uses a node in one of the ways of hold.
func open(way, node string) holder {
	cmd := exec.Command("/init", way, node)
	out, err := cmd.StdoutPipe()
	check(err, "make a pipe")
	check(cmd.Start(), "start a process")
	line := make([]byte, 64)
	n, err := out.Read(line)
	check(err, "wait for a process: "+way)
	if !bytes.HasPrefix(line[:n], []byte("ready")) {
		fail("%s %s: %s", way, node, line[:n])
	}
	return holder{cmd}
}

func (h holder) end() {
	check(h.Process.Kill(), "end a process")
	if status, ok := h.Wait().(*exec.ExitError); !ok || status.Sys().(syscall.WaitStatus).Signal() != unix.SIGKILL {
		fail("the process ended by itself")
	}
}

// byLists reports whether a start made no look at processes, whatever became of it.
func byLists(do func()) bool {
	before := readState().LookedAt
	do()
	return readState().LookedAt == before
}
