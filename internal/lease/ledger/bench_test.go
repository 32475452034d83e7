// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/lease"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// BenchmarkUpdate writes a state of 64 leases and 200 containers. Nobody else wants the lock,
// so that the time of an Update bounds that of the lock.
func BenchmarkUpdate(b *testing.B) {
	l := New(b.TempDir()+"/leases", "boot")
	if err := l.Init(-1); err != nil {
		b.Fatal(err)
	}
	write := func(s *lease.State) error { *s = large(); return nil }
	if err := l.Update(context.Background(), write); err != nil {
		b.Fatal(err)
	}
	var took []time.Duration
	for b.Loop() {
		begin := time.Now()
		err := l.Update(context.Background(), func(s *lease.State) error {
			s.Leases[0].Rev++
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(begin))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "µs-median")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "µs-p99")
}

// large is a state of 64 leases and 200 containers.
func large() lease.State {
	s := lease.NewState("boot")
	since := time.Date(2025, 6, 1, 12, 0, 0, 123456789, time.UTC)
	s.Seen = map[string]lease.Known{}
	for i := range 200 {
		bdfs := []gpu.BDF{{Bus: uint8(i)}, {Bus: uint8(i + 1)}}
		facts := usage.Facts{Name: fmt.Sprintf("trainer_%d", i), Image: "registry.example.com/maca-pytorch:3.3.0.15", GPUs: bdfs, Created: since}
		client := usage.Client{PID: 10000 + i, Start: 123456789, PIDNamespace: 4026531836}
		id, container := usage.LeaseID("boot", "/", client, 0), fmt.Sprintf("%064x", i)
		s.Seen[container] = lease.Known{Facts: facts}
		if i < 64 {
			s.Leases = append(s.Leases, usage.Lease{
				ID: id, Rev: 2, GPUs: bdfs, Engine: "docker", Endpoint: "unix:///var/run/docker.sock", Verb: usage.VerbRun,
				Client: client, User: &usage.User{UID: 1000, Name: "alice"}, Since: since, Container: container, Bound: true,
			})
		}
	}
	slices.SortFunc(s.Leases, func(a, b usage.Lease) int {
		if a.ID < b.ID {
			return -1
		}
		return 1
	})
	return s
}
