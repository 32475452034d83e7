// SPDX-License-Identifier: Apache-2.0

package library

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/test/needs"
	"github.com/metax-ctk/container-toolkit/test/standin"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

// structures are those of the header, with the C names of their fields in order.
var structures = []struct {
	name   string
	size   uintptr // that the comment states
	here   any
	fields string
}{
	{"device_info", 184, deviceInfo{}, "device_id kind bdf gpu_id node_id uuid brand mode name"},
	{"virtual_ids", 516, virtualIDs{}, "number id"},
	{"memory_info", 48, memoryInfo{}, "vis_total vis_used vram_total vram_used xtt_total xtt_used"},
	{"link_info", 56, linkInfo{}, "speed width"},
	{"link_remote", 36, linkRemote{}, "device_id bdf"},
	{"sgpu_info", 124, sgpuInfo{}, "parent id vram_quota software_priority compute_quota minor queue_priority uuid"},
	{"sgpu_memory", 24, sgpuMemory{}, "total used free"},
	{"ecc_count", 20, eccCount{}, "sram_ce sram_ue dram_ce dram_ue retired"},
	{"electric_info", 12, electricInfo{}, "voltage current power"},
	{"pcie_info", 8, pcieInfo{}, "speed width"},
	{"throughput", 8, throughput{}, "rx tx"},
	{"link_bandwidth", 8, linkBandwidth{}, "request response"},
	{"link_traffic", 16, linkTraffic{}, "request response"},
	{"link_aer", 8, linkAER{}, "ce ue"},
	{"link_topo", 12, linkTopo{}, "topology_id socket_id die_id"},
	{"optical_module", 32, opticalModule{}, "temperature voltage module_state path_state rx_state version"},
	{"pci_event", 92, pciEvent{}, "bit count first name"},
	{"ras_errors", 2052, rasErrors{}, "reg size"},
	{"ras_status", 1540, rasStatus{}, "reg size"},
	{"unavailable", 68, unavailable{}, "code reason"},
}

// TestLayout: every structure has the size, and every field the offset, that gcc gives
// it.
func TestLayout(t *testing.T) {
	var program, want strings.Builder
	program.WriteString("#include <stddef.h>\n#include <stdio.h>\n#include \"mxsml.h\"\nint main(void) {\n")
	for _, s := range structures {
		here := reflect.TypeOf(s.here)
		if here.Size() != s.size {
			t.Errorf("%s has %d bytes, its comment says %d", here, here.Size(), s.size)
		}
		fmt.Fprintf(&program, "printf(\"%s %%zu\\n\", sizeof(struct %[1]s));\n", s.name)
		fmt.Fprintf(&want, "%s %d\n", s.name, here.Size())
		for i, field := range strings.Fields(s.fields) {
			fmt.Fprintf(&program, "printf(\"%s.%s %%zu %%zu\\n\", offsetof(struct %[1]s, %[2]s), sizeof(((struct %[1]s *)0)->%[2]s));\n", s.name, field)
			fmt.Fprintf(&want, "%s.%s %d %d\n", s.name, field, here.Field(i).Offset, here.Field(i).Type.Size())
		}
	}
	program.WriteString("}\n")
	needs.Compiler(t)
	dir := standin.Source(t)
	file, out := filepath.Join(dir, "layout.c"), filepath.Join(dir, "layout")
	testfile.Write(t, file, program.String(), 0o644)
	if text, err := exec.Command("gcc", "-Wall", "-Werror", "-o", out, file).CombinedOutput(); err != nil {
		t.Fatalf("compile layout.c: %v\n%s", err, text)
	}
	got, err := exec.Command(out).Output()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.String(), string(got)); diff != "" {
		t.Error(diff)
	}
}

// TestSymbols: the stand-in library has every function that is called, so that no test
// passes because one is missing.
func TestSymbols(t *testing.T) {
	source := testfile.Text(t, filepath.Join(standin.Source(t), "mxsml.c"))
	seen := map[string]bool{}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[functions]()) {
		name := field.Tag.Get("c")
		if !strings.Contains(source, name+"(") {
			t.Errorf("the stand-in has no %q for %s", name, field.Name)
		}
		if seen[name] {
			t.Errorf("%s has another function's name %s", field.Name, name)
		}
		seen[name] = true
	}
}
