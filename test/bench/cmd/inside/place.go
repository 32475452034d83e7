// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// nodeDir is where test/e2e puts the tree of the simulated node.
const nodeDir = "/node"

// place makes the simulated node the machine's own, as on a real host: the programs
// find it without --root. The machine keeps its cgroups and its other devices.
func place() error {
	const cgroups = "/sys/fs/cgroup"
	if err := errors.Join(os.MkdirAll(nodeDir+cgroups, 0o755), bind(cgroups, nodeDir+cgroups)); err != nil {
		return err
	}
	for _, dir := range []string{"/sys", "/opt"} {
		if err := errors.Join(os.MkdirAll(dir, 0o755), bind(nodeDir+dir, dir)); err != nil {
			return err
		}
	}
	devices, err := os.ReadDir(nodeDir + "/dev")
	if err != nil {
		return err
	}
	for _, device := range devices {
		at := filepath.Join("/dev", device.Name())
		if _, err := os.Lstat(at); err == nil {
			continue // the machine has its own
		}
		if device.IsDir() {
			err = os.MkdirAll(at, 0o755)
		} else {
			err = os.WriteFile(at, nil, 0o644)
		}
		if err = errors.Join(err, bind(nodeDir+at, at)); err != nil {
			return err
		}
	}
	return nil
}

func bind(source, target string) error {
	if err := syscall.Mount(source, target, "", syscall.MS_BIND|syscall.MS_REC, ""); err != nil {
		return fmt.Errorf("bind %s over %s: %w", source, target, err)
	}
	return nil
}
