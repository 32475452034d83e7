// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"testing"
)

// TestHealthy: a node without problems has no finding.
func TestHealthy(t *testing.T) {
	for _, name := range []string{"c500-8", "c550-8", "c500-1", "c500-8-sgpu", "superpod-64"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, name)
			b.simulated = true
			b.write()
			b.rewrite()
			for _, f := range b.findings() {
				t.Errorf("%s", f)
			}
		})
	}
}
