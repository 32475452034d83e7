package procfs_test

import (
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/occupancy"
	"github.com/metax-ctk/container-toolkit/internal/occupancy/procfs"
)

// crowd starts processes that do nothing, and tells how many there are with them.
func crowd(b *testing.B, n int) int {
	b.Helper()
	for range n {
		cmd := exec.Command("sleep", "infinity")
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

func BenchmarkLook(b *testing.B) {
	all := crowd(b, 500)
	d := devices(b, "/", "/dev/zero", "/dev/full")
	p := procfs.New("/proc", -1)
	for name, lost := range map[string]bool{"usual": false, "lost": true} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				for _, s := range p.Sources() {
					s.Look(b.Context(), occupancy.Question{Devices: d, Lost: lost})
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(all), "µs/process")
		})
	}
}

func BenchmarkTasks(b *testing.B) {
	all := crowd(b, 500)
	p := procfs.New("/proc", -1)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.Tasks(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(all), "µs/process")
}

func BenchmarkLife(b *testing.B) {
	p := procfs.New("/proc", -1)
	c, err := p.Self()
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if p.Life(c) != occupancy.Alive {
			b.Fatal("we are not alive")
		}
	}
}
