// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/metax-ctk/container-toolkit/k8s/test/cluster"
	"github.com/metax-ctk/container-toolkit/test/placement"
)

// looks is how often TestOperatorScale makes the controller look at all nodes again.
const looks = 10

// TestOperatorScale measures what the operator's controller costs with 5,000 nodes, each with
// a driver's pod and its report. It asserts that the controller looks again, not how fast.
func TestOperatorScale(t *testing.T) {
	if !night {
		t.Skip("takes long: METAX_K8S_NIGHT=1")
	}
	const size = 5000
	f := newFleet(t, size)
	f.request(t, "1", "{enableRollout: true}")
	if err := f.RunOperator(within(t), namespace); err != nil {
		t.Fatal(err)
	}
	f.until(t, 3000, "the driver", func(ctx context.Context) error { return f.upgraded(ctx, "1") })
	const count, processor = `controller_runtime_reconcile_time_seconds_count{controller="clusteroperator"}`, "process_cpu_seconds_total"
	quiet := func() map[string]float64 {
		t.Helper()
		var values map[string]float64
		wait(t, "the controller's rest", func(context.Context) error {
			before := f.metrics(t)
			time.Sleep(5 * time.Second)
			if values = f.metrics(t); values[count] != before[count] {
				return fmt.Errorf("it looks again: %v times", values[count])
			}
			return nil
		})
		return values
	}
	before := quiet()
	for i := range looks {
		f.must(t, "kubectl", "label", "node", "gpu-0000", fmt.Sprintf("example.com/look=%d", i), "--overwrite")
		time.Sleep(2 * time.Second)
	}
	after := quiet()
	times := after[count] - before[count]
	if times < 1 {
		t.Fatalf("the controller did not look again: %v", after)
	}
	o := &placement.Operator{Nodes: size, Look: (after[processor] - before[processor]) / times * 1e9, Memory: f.memory(t, cluster.Operator)}
	t.Logf("%.0f looks: %+v", times, o)
	record(t, func(all *placement.Figures) { all.Operator = o })
}
