// SPDX-License-Identifier: Apache-2.0

package reader

import (
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/health"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// TestErrorLevels: an error of the driver is a note unless the administrator says more of its
// module and number. That lasts over a restart, as long as he says so and the host is not
// booted.
func TestErrorLevels(t *testing.T) {
	at0e, at0f := gpu.BDF{Bus: 0x0e}, gpu.BDF{Bus: 0x0f}
	node := []gpu.GPU{{BDF: at0e, VFs: []gpu.BDF{{Bus: 0x0e, Function: 1}}}, {BDF: at0f}}
	levels := []ErrorLevel{{"SMI", 0x22, protocol.LoggedCode}, {"IOCTL", 0x22, ""}, {"IOCTL", 7, protocol.LoggedFatalCode}}
	state := filepath.Join(t.TempDir(), "state.json")
	begin := func(boot string, levels ...ErrorLevel) *KernelLog {
		return NewKernelLog(state, boot, levels, slog.New(slog.DiscardHandler))
	}
	look := health.Look{Readings: []health.Reading{
		{GPU: health.GPU{BDF: at0e}},
		{GPU: health.GPU{Index: 1, BDF: at0f}, Problems: []health.Problem{{Code: health.Vendor}}},
	}}
	codes := func(k *KernelLog) (all []string) {
		for _, r := range k.Judge(look).Readings {
			text := ""
			for _, p := range r.Problems {
				text += p.Code + " "
			}
			all = append(all, strings.TrimSpace(text))
		}
		return all
	}
	want := func(k *KernelLog, want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, codes(k)); diff != "" {
			t.Error(diff)
		}
	}
	k := begin("a", levels...)
	for _, record := range []string{
		"3,1,0,-;METAX.B0E00.SMI.ERROR EID (0000:0e:00.0): 0x23, a note",
		"3,2,0,-;METAX.B0E00.SMI.ERROR no number",
		"3,3,0,-;METAX.B0E00.IOCTL.ERROR EID (0000:0e:00.0): 0x22, a note also",
		"11,4,0,-;METAX.B0E00.SMI.ERROR EID (0000:0e:00.0): 0x22, of user space",
		"3,5,0,-;METAX.B1100.SMI.ERROR EID (0000:11:00.0): 0x22, of no GPU here",
	} {
		k.add(record, node)
	}
	want(k, "", "vendor")
	k.add("3,6,0,-;METAX.B0E01.SMI.ERROR EID (0000:0e:00.1): 0x22, of its function", node)
	k.add("3,7,0,-;METAX.B0F00.IOCTL.ALERT EID (0000:0f:00.0): 0x7, worse", node)
	k.add("3,8,0,-;METAX.B0F00.SMI.ERROR EID (0000:0f:00.0): 0x22, less", node)
	want(k, protocol.LoggedCode, "vendor "+protocol.LoggedFatalCode)
	if got := k.Judge(look).Readings[0].Problems[0].Text; got != "the driver has logged SMI 0x22: of its function" {
		t.Error(got)
	}
	k.save()
	want(begin("a", levels...), protocol.LoggedCode, "vendor "+protocol.LoggedFatalCode)
	want(begin("a", levels[0]), protocol.LoggedCode, "vendor "+protocol.LoggedCode)
	want(begin("a"), "", "vendor")
	want(begin("b", levels...), "", "vendor")
	if len(look.Readings[0].Problems) != 0 {
		t.Error("the look was changed")
	}
}

func TestParseErrorLevel(t *testing.T) {
	for text, want := range map[string]ErrorLevel{
		"SMI:0x2202=no-new-pods":  {"SMI", 0x2202, protocol.LoggedCode},
		"A_1:7=jobs-in-danger":    {"A_1", 7, protocol.LoggedFatalCode},
		"SMI:0xffffffff=note":     {"SMI", 0xffffffff, ""},
		"SMI:0=no-new-pods":       {},
		"SMI:4294967296=note":     {},
		"SMI:0x1=fatal":           {},
		"smi:0x1=note":            {},
		"SMI=note":                {},
		"SMI:0x1=no-new-pods;x=y": {},
	} {
		got, err := ParseErrorLevel(text)
		if got != want || (err == nil) != (want != ErrorLevel{}) {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
}
