// SPDX-License-Identifier: Apache-2.0

// Command lowlevel runs in front of runc or crun where the machine is less than a real
// node. It removes from the bundle what such a machine cannot grant to anyone, then becomes
// the real runtime, NAME.real beside it:
//
//   - without CAP_SYS_RESOURCE: that capability, a negative OOM score and resource limits of
//     the process, all of which only that capability may set; crun's own wish for unlimited
//     locked memory is told that it came true;
//   - in a cgroup v2 tree without controllers: every limit but the device rules, which need
//     no controller;
//   - in a cgroup v1 tree without huge pages: their limits.
//
// What the tests look at, devices, mounts, users and groups, passes through as it is.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/metax-ctk/container-toolkit/test/machine"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "lowlevel:", err)
		os.Exit(1)
	}
}

func run() error {
	if bundle, ok := bundle(os.Args[1:]); ok {
		if err := soften(filepath.Join(bundle, "config.json")); err != nil {
			return err
		}
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if !machine.CanRaise() {
		if err := keepLockedMemory(); err != nil {
			return err
		}
	}
	return syscall.Exec(self+".real", os.Args, os.Environ())
}

// bundle finds the bundle directory of a command line that makes a container.
func bundle(args []string) (string, bool) {
	if !slices.ContainsFunc(args, func(a string) bool { return a == "create" || a == "run" || a == "restore" }) {
		return "", false
	}
	for i, a := range args {
		if (a == "--bundle" || a == "-b") && i+1 < len(args) {
			return args[i+1], true
		}
		if dir, ok := strings.CutPrefix(a, "--bundle="); ok {
			return dir, true
		}
	}
	return ".", true
}

func soften(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var config map[string]any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&config); err != nil {
		return fmt.Errorf("parse %s: %w", path, err)
	}
	if process, _ := config["process"].(map[string]any); process != nil && !machine.CanRaise() {
		lower(process)
	}
	if linux, _ := config["linux"].(map[string]any); linux != nil && machine.BareV2("/sys/fs/cgroup") {
		if resources, _ := linux["resources"].(map[string]any); resources != nil {
			linux["resources"] = map[string]any{"devices": resources["devices"]}
		}
	}
	if linux, _ := config["linux"].(map[string]any); linux != nil && machine.LacksHugePages("/sys/fs/cgroup") {
		if resources, _ := linux["resources"].(map[string]any); resources != nil {
			delete(resources, "hugepageLimits")
		}
	}
	if text, err = json.Marshal(config); err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o600)
}

// lower takes out of a process what only CAP_SYS_RESOURCE may set.
func lower(process map[string]any) {
	delete(process, "rlimits")
	if score, ok := process["oomScoreAdj"].(json.Number); ok && strings.HasPrefix(score.String(), "-") {
		delete(process, "oomScoreAdj")
	}
	sets, _ := process["capabilities"].(map[string]any)
	for name, set := range sets {
		list, _ := set.([]any)
		sets[name] = slices.DeleteFunc(list, func(c any) bool { return c == "CAP_SYS_RESOURCE" })
	}
}
