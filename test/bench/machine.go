// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
)

// Machine is what the figures depend on and a reader may know. It names neither the machine
// nor anything on it.
type Machine struct {
	CPU      string  `json:"cpu"`
	Cores    int     `json:"cores"`
	Virtual  bool    `json:"virtual"`
	MemoryGB float64 `json:"memoryGiB"`
	Kernel   string  `json:"kernel"`
	Go       string  `json:"go"`
	// Load is how many processes wanted to run in the minute before the first measurement.
	Load float64 `json:"load"`
}

// thisMachine reads /proc.
func thisMachine() (Machine, error) {
	m := Machine{Cores: runtime.NumCPU(), Go: runtime.Version()}
	cpu, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return Machine{}, err
	}
	m.CPU = after(string(cpu), "model name")
	m.Virtual = strings.Contains(after(string(cpu), "flags")+" ", " hypervisor ")
	memory, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return Machine{}, err
	}
	var kib float64
	if _, err := fmt.Sscan(after(string(memory), "MemTotal"), &kib); err != nil {
		return Machine{}, fmt.Errorf("read /proc/meminfo: %w", err)
	}
	m.MemoryGB = kib / (1 << 20)
	kernel, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return Machine{}, err
	}
	m.Kernel = strings.TrimSpace(string(kernel))
	load, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return Machine{}, err
	}
	if _, err := fmt.Sscan(string(load), &m.Load); err != nil {
		return Machine{}, fmt.Errorf("read /proc/loadavg: %w", err)
	}
	return m, nil
}

// after returns what follows the name and a colon in the first line that begins with them.
func after(text, name string) string {
	for line := range strings.Lines(text) {
		key, value, ok := strings.Cut(line, ":")
		if ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
