// SPDX-License-Identifier: Apache-2.0

package kmsg_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/discover/kmsg"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

var (
	gpuAt0e = gpu.BDF{Bus: 0x0e}
	node    = []gpu.GPU{{BDF: gpuAt0e, VFs: []gpu.BDF{{Bus: 0x0e, Function: 1}}}, {BDF: gpu.BDF{Domain: 1, Bus: 0x4f, Device: 2}}}
)

// TestParse: only a message that the kernel wrote, of the whole form, is one.
func TestParse(t *testing.T) {
	of := func(module, level, text string) kmsg.Message {
		return kmsg.Message{BDF: gpuAt0e, Module: module, Level: level, Text: text, Time: 99}
	}
	for record, want := range map[string]kmsg.Message{
		"3,7,99,-;METAX.B0E00.SMI.ERROR temperature out of range":                        of("SMI", "ERROR", "temperature out of range"),
		"3,7,99,-;MXGVM.B0E00.V3.MBX.ALERT x\n SUBSYSTEM=pci\n DEVICE=+pci:0000:0e:00.0": of("MBX", "ALERT", "x"),
		"4,7,99,c,caller=T1;MXCD.B0E00.D0.V12.IOCTL.ERROR a\tb":                          of("IOCTL", "ERROR", "a b"),
		"3,7,99,-;METAX.B14F10.SMI.ERROR y": {
			BDF: gpu.BDF{Domain: 1, Bus: 0x4f, Device: 2}, Module: "SMI", Level: "ERROR", Text: "y", Time: 99,
		},
		"3,7,99,-;MXCD.B0E00.D0.IOCTL.ERROR EID (0000:0e:00.0): 0x2202, device array empty, 1": {
			BDF: gpuAt0e, Module: "IOCTL", Level: "ERROR", EID: 0x2202, Text: "device array empty, 1", Time: 99,
		},
		// of user space: facility 1, and the greatest
		"11,7,99,-;METAX.B0E00.SMI.ERROR x":  {},
		"187,7,99,-;METAX.B0E00.SMI.ERROR x": {},
		// the kernel's own, with a name of user space
		"6,7,99,-;MXCD.B1.X.ERROR[4711]: segfault at 0 ip 0000 sp 0000 error 4 in a[1000+1000]": {},
		"6,7,99,-;METAX.BEEF.A.ERROR[4711]: segfault at 0":                                      {},
		"6,7,99,-;traps: METAX.B0E00.SMI.ERROR x":                                               {},
		"6,7,99,-; METAX.B0E00.SMI.ERROR x":                                                     {},
		"6,7,99,-;x\n METAX.B0E00.SMI.ERROR x":                                                  {},
		"6,7,99,-;audit: METAX.B0E00.SMI.ERROR x\nMETAX.B0E00.SMI.ERROR x":                      {},
		"3,7,99,-;METAX.B0E00.SMI.ERROR":                                                        {},
		"3,7,99,-;METAX.B0E00.SMI.ERROR ":                                                       {},
		"3,7,99,-;METAX.B0E00.SMI.INFO x":                                                       {},
		"3,7,99,-;METAX.B0e00.SMI.ERROR x":                                                      {},
		"3,7,99,-;METAX.B123456789.SMI.ERROR x":                                                 {},
		"3,7,99,-;METAX.B0E00.smi.ERROR x":                                                      {},
		"3,7,99,-;MXCD.B0E00.IOCTL.ERROR EID (0000:0f:00.0): 0x2202, of another GPU":            {},
		"3,7,99;METAX.B0E00.SMI.ERROR x":                                                        {}, "x,7,99,-;METAX.B0E00.SMI.ERROR x": {}, "": {}, ";": {},
	} {
		_, got, ok := kmsg.Parse(record)
		if diff := cmp.Diff(want, got); diff != "" || ok != (want != kmsg.Message{}) {
			t.Errorf("%q: %t %s", record, ok, diff)
		}
	}
}

// TestStorm: what 100,000 messages leave is small, and none is counted twice after a restart,
// nor lost.
func TestStorm(t *testing.T) {
	record := func(i int) string {
		module := strings.Map(func(r rune) rune { return 'A' + r - '0' }, fmt.Sprint(i))
		return fmt.Sprintf("3,%d,0,-;METAX.B0E00.%s.ERROR EID (0000:0e:00.0): 0x%x, text %d", i+1, module, i+1, i)
	}
	var l kmsg.Log
	for i := range 100_000 {
		l.Add(record(i), node)
	}
	sum := func() (sum float64) {
		for _, c := range l.Counters(gpuAt0e) {
			if c.Kind == gpu.CountLog {
				sum += c.Value
			}
		}
		return sum
	}
	if all := l.Counters(gpuAt0e); len(all) > 33+16 || sum() != 100_000 {
		t.Errorf("%d counters, %v messages", len(all), sum())
	}
	for i := range 100_100 { // the kernel's buffer from its start
		l.Add(record(i), node)
	}
	if sum() != 100_100 || l.Lost != 0 {
		t.Errorf("%v messages after a restart, %d lost", sum(), l.Lost)
	}
	if l.Add(record(100_110), node); l.Lost != 10 {
		t.Errorf("%d records lost", l.Lost)
	}
}

// TestCounters: messages count for the GPU that they name, and for no other; those about no
// GPU of the node do nothing.
func TestCounters(t *testing.T) {
	var l kmsg.Log
	for i, text := range []string{
		"METAX.B0E00.SMI.ERROR a", "METAX.B0E00.SMI.ERROR b", "METAX.B0E00.SMI.ALERT c", "METAX.B0F00.SMI.ERROR of no GPU", "METAX.B0E01.VF.ERROR of its function",
		"MXCD.B0E00.IOCTL.ERROR EID (0000:0e:00.0): 0x2202, first", "MXCD.B0E00.IOCTL.ERROR EID (0000:0e:00.0): 0x2202, again",
	} {
		l.Add(fmt.Sprintf("3,%d,0,-;%s", i+1, text), node)
	}
	r := gpu.Reading{Counters: l.Counters(gpuAt0e)}
	r.Check()
	want := []gpu.Counter{
		{Kind: gpu.LogEID, Type: "driver", Name: "first", Value: 0x2202},
		{Kind: gpu.CountLog, Type: "ALERT", Name: "SMI", Value: 1},
		{Kind: gpu.CountLog, Type: "ERROR", Name: "IOCTL", Value: 2},
		{Kind: gpu.CountLog, Type: "ERROR", Name: "SMI", Value: 2},
	}
	if diff := cmp.Diff(want, r.Counters); diff != "" {
		t.Error(diff)
	}
	if got := l.Counters(gpu.BDF{Bus: 0x0f}); got != nil {
		t.Errorf("%+v", got)
	}
}

// TestErrors: each module, level and EID is counted, with the time of the last message. Of too
// many EIDs, the oldest count as the rest of their module.
func TestErrors(t *testing.T) {
	var l kmsg.Log
	sequence := 0
	add := func(text string) {
		sequence++
		l.Add(fmt.Sprintf("3,%d,%d,-;%s", sequence, 1000+sequence, text), node)
	}
	add("METAX.B0E00.SMI.ERROR a")
	add("METAX.B0E00.SMI.ERROR EID (0000:0e:00.0): 0x7, b")
	add("METAX.B0E00.SMI.ERROR c")
	add("METAX.B0E00.SMI.ALERT EID (0000:0e:00.0): 0x7, d")
	add("METAX.B0E00.SMI.ERROR EID (0000:0e:00.0): 0x7, e")
	want := []kmsg.Error{
		{Module: "SMI", Level: "ERROR", EID: 7, Text: "b", Count: 2, Last: 1005},
		{Module: "SMI", Level: "ALERT", EID: 7, Text: "d", Count: 1, Last: 1004},
		{Module: "SMI", Level: "ERROR", Text: "a", Count: 2, Last: 1003},
	}
	if diff := cmp.Diff(want, l.GPUs[0].Errors); diff != "" {
		t.Error(diff)
	}
	for i := range 16 {
		add(fmt.Sprintf("METAX.B0E00.VM.ERROR EID (0000:0e:00.0): 0x%x, f", 100+i))
	}
	rest := l.GPUs[0].Errors[16:]
	want = []kmsg.Error{
		{Module: "SMI", Level: "ALERT", Text: "d", Count: 1, Last: 1004},
		{Module: "SMI", Level: "ERROR", Text: "a", Count: 4, Last: 1005},
	}
	if diff := cmp.Diff(want, rest); diff != "" {
		t.Error(diff)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("3,7,99,-;MXCD.B0E00.D0.IOCTL.ERROR EID (0000:0e:00.0): 0x2202, device array empty")
	f.Add("3,7,99,-;METAX.BFFFFFFFF.V1.SMI.ALERT \xff\n DEVICE=x")
	f.Fuzz(func(t *testing.T, record string) {
		_, m, ok := kmsg.Parse(record)
		if ok && (len(m.Text) > 64 || strings.ContainsFunc(m.Text, func(r rune) bool { return r < ' ' || r > '~' })) {
			t.Errorf("%q: %+v", record, m)
		}
	})
}
