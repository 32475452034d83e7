// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"strings"
	"testing"

	"github.com/metax-ctk/container-toolkit/test/sandbox"
)

// TestSkewSlices has a container whose slice the version that stands for the first tag named
// SGPU-…, as its record and its lease do. After the upgrade, which of the slices of its GPU it
// has is not known: none is given to others until it ends.
func TestSkewSlices(t *testing.T) {
	h := startHost(t, "sid", sandbox.Hybrid, onlyTools(t))
	s := &skew{desk: desk{host: h, client: "docker", root: slicesDir}, first: firstPackage(t)}
	s.installFirst(t)
	names := func() (of2 []string) {
		t.Helper()
		h.must(t, nil, "metax-ctk", "--root", slicesDir, "cdi", "generate")
		var listed struct{ Items []slice }
		h.decode(t, &listed, "metax-ctk", "--root", slicesDir, "sgpu", "list", "-o", "json")
		for _, one := range listed.Items {
			if one.GPU == 2 {
				of2 = append(of2, one.name())
			}
		}
		if len(of2) != 2 {
			t.Fatalf("GPU 2 has slices %+v, want 2", listed)
		}
		return of2
	}
	h.must(t, nil, "metax-ctk", "sim", "create", "c500-8-sgpu", slicesDir)
	former := names()
	h.docker(t, "28.", nil)
	if !strings.HasPrefix(former[0], "SGPU-") {
		t.Fatalf("the first version calls slices %q, want SGPU-…", former)
	}
	s.detach(t, "--gpus=sgpu:"+former[0], "--name=former")
	s.refused(t, []string{"--gpus=sgpu:" + former[0]}, "is in use by container former")

	// This version reads the driver's files, of which the first one's simulation knew nothing.
	s.installNow(t)
	if err := os.Rename(h.Path(slicesDir), h.Path("/was")); err != nil {
		t.Fatal(err)
	}
	h.must(t, nil, "metax-ctk", "sim", "create", "c500-8-sgpu", slicesDir)
	const state = "/run/metax-container-toolkit"
	if err := os.CopyFS(h.Path(slicesDir+state), os.DirFS(h.Path("/was"+state))); err != nil {
		t.Fatal(err)
	}
	inUse := func() {
		t.Helper()
		s.refused(t, []string{"--gpus=sgpu:" + former[0]}, "is not a slice")
		for _, name := range names() {
			if !strings.HasPrefix(name, "GPU-") {
				t.Fatalf("a slice is called %q, want GPU-…", name)
			}
			s.refused(t, []string{"--gpus=sgpu:" + name}, "slice "+name+" of GPU 2 is in use by container former")
		}
	}
	inUse()
	h.must(t, nil, "docker", "exec", "former", "/probe", "exit", "0")
	h.must(t, nil, "docker", "restart", "--time=0", "former")
	inUse()
	h.must(t, nil, "docker", "rm", "--force", "former")
	for _, name := range names() {
		s.detach(t, "--gpus=sgpu:"+name, "--name="+name)
	}
	s.clear(t)
}
