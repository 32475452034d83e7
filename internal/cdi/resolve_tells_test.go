// SPDX-License-Identifier: Apache-2.0

package cdi

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/test/simtest"
)

// TestResolveTells: variables tell which GPUs the container has, whatever names request them
// and however many; the UUIDs only if the spec has all of them.
func TestResolveTells(t *testing.T) {
	first, second := twoGPUs().GPUs[0], twoGPUs().GPUs[1]
	both := []string{"METAX_GPU_UUIDS=" + string(first.UUID) + "," + string(second.UUID), "METAX_GPU_INDICES=0,1"}
	for name, tc := range map[string]struct {
		opt     Options
		devices []string
		want    []string
	}{
		"one":             {Options{}, []string{"1"}, []string{"METAX_GPU_UUIDS=" + string(second.UUID), "METAX_GPU_INDICES=1"}},
		"two, backwards":  {Options{}, []string{"1", "0"}, both},
		"by other names":  {Options{}, []string{second.BDF.String(), string(first.UUID), "0"}, both},
		"all":             {Options{}, []string{"all"}, both},
		"all and one":     {Options{}, []string{"all", "0"}, both},
		"no UUIDs":        {Options{Names: ByIndex}, []string{"0", "1"}, both[1:]},
		"no indices":      {Options{Names: ByUUID}, []string{string(first.UUID), string(second.UUID)}, both[:1]},
		"addresses alone": {Options{Names: ByBDF}, []string{first.BDF.String()}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if _, err := Write(dir+"/gpu.json", generated(t, twoGPUs(), tc.opt), JSON); err != nil {
				t.Fatal(err)
			}
			host := simtest.Root(t, "/")
			var names []string
			for _, d := range tc.devices {
				names = append(names, Qualified("metax-tech.com/gpu", d))
			}
			e, err := Resolve(host, []string{dir}, names)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, e.Env); diff != "" {
				t.Error(diff)
			}
		})
	}
}
