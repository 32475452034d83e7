// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"cmp"
	"os"
	"testing"

	"github.com/metax-ctk/container-toolkit/test/sandbox"
)

// TestBench measures on Docker 28 and asserts nothing. METAX_E2E_BENCH names the file that
// the figures go to, METAX_E2E_BENCH_PART what cmd/inside of test/bench measures; test/bench/run
// sets them.
func TestBench(t *testing.T) {
	file := os.Getenv("METAX_E2E_BENCH")
	if file == "" {
		t.Skip("needs METAX_E2E_BENCH, the file for the figures (start with test/bench/run)")
	}
	if err := goBuild("../bench", fixed.bin, "./cmd/..."); err != nil {
		t.Fatal(err)
	}
	h := newHost(t, "sid", sandbox.V2)
	h.must(t, nil, "inside", "place")
	h.must(t, nil, "metax-ctk", "cdi", "generate")
	h.docker(t, "28.", nil)
	macaArchive(t, debianImage, h.Path("/tmp/debian.tar"))
	h.must(t, nil, "docker", "load", "--quiet", "--input", "/tmp/debian.tar")

	// Not h.run: how long this takes is what it is about.
	cmd := h.Command(t.Context(), nil, "inside", cmp.Or(os.Getenv("METAX_E2E_BENCH_PART"), "measure"), imageRef, "/probe", "exit", "0")
	cmd.Stderr = os.Stderr
	figures, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, figures, 0o644); err != nil {
		t.Fatal(err)
	}
}
