// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/dockerargs"
	"github.com/metax-ctk/container-toolkit/internal/node"
)

// TestValues demands words for the value of each option.
func TestValues(t *testing.T) {
	for _, o := range dockerargs.Complete([]string{"run"}, dockerargs.Docker()).Options {
		if o.Value && len(valuesOf(node.Selector{Node: "c500-8"}, o.Name, "").Candidates) == 0 {
			t.Errorf("--%s: nothing is offered", o.Name)
		}
	}
}
