// SPDX-License-Identifier: Apache-2.0

package procfs_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/holders/procfs"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// crowd starts what a host with 100 containers has: shims with 40 files open each, at work in
// their bundles, and four times as many processes with 10. It tells how many processes there
// are with them.
func crowd(b *testing.B) int {
	b.Helper()
	sh, err := exec.LookPath("sh")
	if err != nil {
		b.Skip("no program to start")
	}
	text, err := os.ReadFile(sh)
	if err != nil {
		b.Fatal(err)
	}
	dir := b.TempDir()
	shim := filepath.Join(dir, "containerd-shim-runc-v2")
	if err := os.WriteFile(shim, text, 0o755); err != nil {
		b.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	for i := range 500 {
		cmd, files := exec.Command(sh, "-c", "read line", "sh", "-address", "/run/containerd/containerd.sock"), 10
		cmd.Stdin = r
		if i%5 == 0 {
			cmd.Path, files = shim, 40
			cmd.Dir = filepath.Join(dir, v2, "moby", strconv.Itoa(i))
			if err := os.MkdirAll(cmd.Dir, 0o755); err != nil {
				b.Fatal(err)
			}
		}
		for range files - 3 {
			cmd.ExtraFiles = append(cmd.ExtraFiles, w)
		}
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		b.Fatal(err)
	}
	all := 0
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err == nil {
			all++
		}
	}
	return all
}

// measure runs f for the benchmark, and reports what it costs per process and of the
// processors.
func measure(b *testing.B, all int, f func()) {
	b.ReportAllocs()
	before := used(b)
	for b.Loop() {
		f()
	}
	b.ReportMetric(float64(used(b)-before)/1000/float64(b.N), "cpu-µs/op")
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(all), "µs/process")
}

// used is the processor time of this process in nanoseconds.
func used(b *testing.B) int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t); err != nil {
		b.Fatal(err)
	}
	return t.Nano()
}

func BenchmarkLook(b *testing.B) {
	all := crowd(b)
	d := devices(b, "/", "/dev/zero", "/dev/full")
	p := procfs.New("/proc", -1)
	for name, lost := range map[string]bool{"usual": false, "lost": true} {
		b.Run(name, func(b *testing.B) {
			measure(b, all, func() {
				for _, s := range p.Sources(d) {
					s.Look(b.Context(), usage.Question{Lost: lost})
				}
			})
		})
	}
}

// What a great many descriptors cost, and a great many processes.
// The walk is allowed to come to its end.
func BenchmarkMany(b *testing.B) {
	d := devices(b, "/", "/dev/zero", "/dev/full")
	walk := func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			for _, s := range procfs.New("/proc", -1).Sources(d) {
				if _, err := s.Look(b.Context(), usage.Question{}); errors.Is(err, usage.ErrUnfinished) {
					b.Fatal(err)
				}
			}
		}
	}
	for _, many := range []int{100_000, 1_000_000} {
		b.Run(fmt.Sprintf("%d descriptors", many), func(b *testing.B) {
			const each = 10_000 // what a process may have anywhere
			for range many / each {
				start(b, nil, []string{duplicates + "=" + strconv.Itoa(each)})
			}
			walk(b)
		})
	}
	b.Run("5000 processes", func(b *testing.B) {
		for range 10 {
			crowd(b)
		}
		walk(b)
	})
}

func BenchmarkTasks(b *testing.B) {
	all := crowd(b)
	p := procfs.New("/proc", -1)
	measure(b, all, func() {
		if _, err := p.Tasks(); err != nil {
			b.Fatal(err)
		}
	})
}

func BenchmarkLife(b *testing.B) {
	p := procfs.New("/proc", -1)
	c, err := p.Self()
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if p.Liveness(c) != usage.Alive {
			b.Fatal("we are not alive")
		}
	}
}
