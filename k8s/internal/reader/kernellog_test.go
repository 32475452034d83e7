// SPDX-License-Identifier: Apache-2.0

package reader

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

// follow lets a KernelLog of a boot read the records, as the kernel gives them, to their end,
// and returns what it counts for each GPU of a node of two.
func follow(t *testing.T, state, boot string, log *bytes.Buffer, records ...string) map[gpu.BDF]float64 {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	kernel, reads := os.NewFile(uintptr(fds[0]), "kernel"), os.NewFile(uintptr(fds[1]), "kmsg")
	go func() {
		defer kernel.Close()
		for _, r := range records {
			if _, err := kernel.Write([]byte(r)); err != nil {
				t.Error(err)
			}
		}
	}()
	n := gpu.NewNode("")
	n.GPUs = []gpu.GPU{{BDF: gpu.BDF{Bus: 0x0e}}, {BDF: gpu.BDF{Bus: 0x0f}}}
	k := NewKernelLog(state, boot, nil, slog.New(slog.NewTextHandler(log, nil)))
	if err := k.Follow(t.Context(), reads, func() gpu.Node { return n }); err != nil {
		t.Error(err)
	}
	counts := map[gpu.BDF]float64{}
	for _, r := range k.AddTo(n, []gpu.Reading{{BDF: n.GPUs[0].BDF}}) {
		for _, c := range r.Counters {
			if c.Kind == gpu.CountLog {
				counts[r.BDF] += c.Value
			}
		}
	}
	return counts
}

// TestKernelLog: a restart neither loses nor repeats a message within a boot, and a storm is
// logged once.
func TestKernelLog(t *testing.T) {
	records := func(first, last int) (all []string) {
		for i := first; i <= last; i++ {
			all = append(all, fmt.Sprintf("3,%d,0,-;METAX.B0E00.SMI.ERROR text %d", i, i))
		}
		return all
	}
	state := filepath.Join(t.TempDir(), "state.json")
	var log bytes.Buffer
	at0e := gpu.BDF{Bus: 0x0e}
	for _, step := range []struct {
		boot    string
		records []string
		want    map[gpu.BDF]float64
	}{
		{"a", records(1, 500), map[gpu.BDF]float64{at0e: 500}},
		{"a", records(1, 700), map[gpu.BDF]float64{at0e: 700}},
		{"a", nil, map[gpu.BDF]float64{at0e: 700}},
		{"a", []string{"11,701,0,-;METAX.B0F00.SMI.ERROR of user space", "3,702,0,-;METAX.B0F00.SMI.ALERT real"}, map[gpu.BDF]float64{at0e: 700, {Bus: 0x0f}: 1}},
		{"b", records(1, 3), map[gpu.BDF]float64{at0e: 3}},
	} {
		if diff := cmp.Diff(step.want, follow(t, state, step.boot, &log, step.records...)); diff != "" {
			t.Error(diff)
		}
	}
	if got := strings.Count(log.String(), "the driver reports"); got != 3 { // the first of each kind, in each boot
		t.Errorf("logged %d times:\n%s", got, log.String())
	}
	testfile.Write(t, state, `{"boot":"b","gpus":[{"bdf":"0000:0e:00.0"}]}`, 0o600)
	if diff := cmp.Diff(map[gpu.BDF]float64{at0e: 2}, follow(t, state, "b", &log, records(1, 2)...)); diff != "" {
		t.Error(diff)
	}
}
