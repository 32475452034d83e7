package main

import (
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/config"
	"github.com/metax-ctk/container-toolkit/internal/dockerargs"
)

// TestValues demands words for the value of each option.
func TestValues(t *testing.T) {
	w := wrapper{settings: config.Config{Node: config.Value{Text: "c500-8"}}}
	for _, o := range dockerargs.Complete([]string{"run"}, dockerargs.Docker()).Options {
		if o.Value && len(w.valuesOf(o.Name, "").Candidates) == 0 {
			t.Errorf("--%s: nothing is offered", o.Name)
		}
	}
}
