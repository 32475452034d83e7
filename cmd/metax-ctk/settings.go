// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/internal/config"
)

// withoutSettings are the commands that need no setting: those that find and fix a fault of
// the file, and those that have no node.
var withoutSettings = []string{"version", "completion", "config", "doctor", "bugreport", "sim"}

// The settings that commands need: all those that have a node, those that look for users of
// GPUs, and those that choose.
var (
	nodeSettings  = []string{"node", "root"}
	usersSettings = []string{"gpus.ignore", "gpus.wait-max", "gpus.kubelet"}
	pickSettings  = []string{"gpus.policy", "gpus.scope", "gpus.sizes"}
)

// settingsOf returns the settings that a command needs; a fault of another one does not stop
// it.
func settingsOf(command string) []string {
	switch command {
	case "pick", "wait":
		return slices.Concat(nodeSettings, usersSettings, pickSettings)
	case "topology", "ps", "top", "lease", "sgpu":
		return slices.Concat(nodeSettings, usersSettings)
	case "health":
		return slices.Concat(nodeSettings, []string{"health.exec"})
	case "maca":
		return slices.Concat(nodeSettings, []string{"maca.requirements"})
	}
	return nodeSettings
}

// stopsCommand reports whether a command needs what is wrong with the configuration.
func stopsCommand(command string, bad error) bool {
	if slices.Contains(withoutSettings, command) {
		return false
	}
	var faults *config.Error
	if !errors.As(bad, &faults) {
		return true
	}
	return slices.ContainsFunc(faults.Problems, func(p config.Problem) bool {
		return slices.ContainsFunc(settingsOf(command), p.Concerns)
	})
}

// badSettings returns what a command does first with a configuration that has a fault: it
// fails if it needs what is wrong, and warns otherwise. Those that need no setting go on
// silently.
func (t toolkit) badSettings(command string, bad error) cli.BeforeFunc {
	return func(*cli.Context) error {
		switch {
		case stopsCommand(command, bad):
			return usageError(bad)
		case !slices.Contains(withoutSettings, command):
			t.warn(bad.Error())
		}
		return nil
	}
}
