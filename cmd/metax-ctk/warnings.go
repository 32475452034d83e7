// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"sync"

	"github.com/metax-ctk/container-toolkit/internal/terminal"
)

// warnings are those of a command since it last printed something: its own are printed at
// once, those of the node behind them, before the next output.
type warnings struct {
	sync.Mutex // top looks for users of GPUs beside its view
	terminal.Warnings
	node []string
}

// warn prints each warning in a line of its own, or counts it.
func (t toolkit) warn(lines ...string) {
	t.warnings.Lock()
	defer t.warnings.Unlock()
	t.admit(lines)
}

// warnNode keeps warnings of the node for endWarnings.
func (t toolkit) warnNode(lines ...string) {
	t.warnings.Lock()
	defer t.warnings.Unlock()
	t.warnings.node = append(t.warnings.node, lines...)
}

// endWarnings prints the warnings of the node and how many are not printed.
func (t toolkit) endWarnings() {
	t.warnings.Lock()
	defer t.warnings.Unlock()
	t.admit(t.warnings.node)
	if rest := t.warnings.Rest("add --log-level warn"); rest != "" {
		fmt.Fprintf(t.Err, "metax-ctk: %s\n", rest)
	}
	t.warnings.Warnings, t.warnings.node = terminal.Warnings{}, nil
}

func (t toolkit) admit(lines []string) {
	for _, line := range lines {
		t.log.Warn(line)
		if t.warnings.Admit() {
			fmt.Fprintf(t.Err, "metax-ctk: warning: %s\n", terminal.Message(line))
		}
	}
}
