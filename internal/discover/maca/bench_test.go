// SPDX-License-Identifier: Apache-2.0

package maca_test

import (
	"fmt"
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/discover/maca"
	"github.com/metax-ctk/container-toolkit/test/simtest"
)

// BenchmarkInspect reads installations with as many libraries as real ones, and with
// many more.
func BenchmarkInspect(b *testing.B) {
	for _, libraries := range []int{60, 10000} {
		b.Run(fmt.Sprint(libraries), func(b *testing.B) {
			tree := simulated(b)
			data := tree[home+"/lib/libmccl.so"]
			for i := range libraries {
				tree[fmt.Sprintf("%s/lib/libx%d.so.1", home, i)] = data
			}
			host := simtest.Write(b, tree)
			for b.Loop() {
				if _, _, err := maca.All(host); err != nil {
					b.Fatal(err)
				}
				for _, i := range maca.List(host, "").MACA() {
					maca.Inspect(host, i)
				}
			}
		})
	}
}
