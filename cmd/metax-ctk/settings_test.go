// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"slices"
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/config"
)

// TestFaultsStop: a fault of the configuration stops the commands that need what is wrong, and
// no other.
func TestFaultsStop(t *testing.T) {
	all := []string{"bugreport", "cdi", "completion", "config", "device", "doctor", "health", "lease", "maca", "pick", "ps", "runtime", "sgpu", "sim", "snapshot", "top", "topology", "version", "wait"}
	nodes := []string{"cdi", "device", "health", "lease", "maca", "pick", "ps", "runtime", "sgpu", "snapshot", "top", "topology", "wait"}
	users := []string{"lease", "pick", "ps", "sgpu", "top", "topology", "wait"}
	for text, want := range map[string][]string{
		"[docker]\nclinet = 'podman'\n":       nil,
		"[dockr]\nclient = 'podman'\n":        nil,
		"[docker]\ninject = 'best'\n":         nil,
		"[runtime]\nruntimes = 3\n":           nil,
		"[log]\nlevel = 'all'\n":              nil,
		"nothing-like-it = 1\n":               nil,
		"[gpus]\npolcy = 'binpack'\n":         {"pick", "wait"},
		"[gpus]\nkubelet = 'here'\n":          users,
		"[gpsu]\npolicy = 'binpack'\n":        users,
		"[[maca.requirements]]\nmaca = 'x'\n": {"maca"},
		"rot = '/host'\n":                     nodes,
		"root = 'host'\n":                     nodes,
		"root = \n":                           nodes,
	} {
		_, err := config.Load("config.toml", []byte(text), func(string) string { return "" })
		if err == nil {
			t.Errorf("%q is valid", text)
		}
		var got []string
		for _, command := range all {
			if stopsCommand(command, err) {
				got = append(got, command)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q stops %v, want %v (%v)", text, got, want, err)
		}
	}
	if !stopsCommand("ps", errors.New("a file of strangers")) || stopsCommand("doctor", errors.New("a file of strangers")) {
		t.Error("a file that is not read stops what has a node, and not doctor")
	}
}

// TestUsableSettings: the settings that no fault concerns hold.
func TestUsableSettings(t *testing.T) {
	c, err := config.Load("config.toml", []byte("root = '/host'\n[gpus]\npolicy = 'best'\nscope = 'link'\n"), func(string) string { return "" })
	if err == nil || c.Root.Text != "/host" || c.Scope.Text != "link" || c.Policy.Text != "spread" {
		t.Errorf("root %q, scope %q, policy %q, %v", c.Root.Text, c.Scope.Text, c.Policy.Text, err)
	}
}
