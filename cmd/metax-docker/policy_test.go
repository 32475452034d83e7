package main

import (
	"strings"
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/internal/config"
)

// TestRetiredPolicy names a policy of older versions for the line and for two
// services of a project: one warning, and spread.
func TestRetiredPolicy(t *testing.T) {
	var said strings.Builder
	w := wrapper{deps: deps{Err: &said}}
	w.settings.Policy = config.Value{Text: "distribute", Origin: "METAX_CTK_GPUS_POLICY"}
	for _, named := range []string{"", "partition", "partition"} {
		if p, err := w.policy(named); p != key.Spread || err != nil {
			t.Errorf("%q: %v, %v; want spread", named, p, err)
		}
	}
	if text := said.String(); strings.Count(text, "\n") != 1 || strings.Count(text, "(") != 1 || !strings.Contains(text, "distribute no longer exists") || !strings.Contains(text, "(from METAX_CTK_GPUS_POLICY)") {
		t.Errorf("said %q", text)
	}
}
