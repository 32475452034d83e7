// SPDX-License-Identifier: Apache-2.0

package holders

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

func TestCards(t *testing.T) {
	one, two := gpu.BDF{Bus: 1}, gpu.BDF{Bus: 2}
	for name, c := range map[string]struct {
		numbers map[Number]gpu.BDF
		want    map[gpu.BDF]uint32
	}{
		"none":              {nil, map[gpu.BDF]uint32{}},
		"two GPUs":          {map[Number]gpu.BDF{{Major: 226, Minor: 1}: one, {Major: 226, Minor: 128}: one, {Major: 226, Minor: 63}: two, {Major: 226, Minor: 191}: two}, map[gpu.BDF]uint32{one: 1, two: 63}},
		"no render node":    {map[Number]gpu.BDF{{Major: 226, Minor: 1}: one}, map[gpu.BDF]uint32{one: 1}},
		"no card":           {map[Number]gpu.BDF{{Major: 226, Minor: 1}: one, {Major: 226, Minor: 128}: two}, nil},
		"two cards":         {map[Number]gpu.BDF{{Major: 226, Minor: 1}: one, {Major: 226, Minor: 2}: one}, nil},
		"two render nodes":  {map[Number]gpu.BDF{{Major: 226, Minor: 1}: one, {Major: 226, Minor: 128}: one, {Major: 226, Minor: 129}: one}, nil},
		"a node of a slice": {map[Number]gpu.BDF{{Major: 226, Minor: 1}: one, {Major: 511, Minor: 1}: one}, nil},
		"a control node":    {map[Number]gpu.BDF{{Major: 226, Minor: 1}: one, {Major: 226, Minor: 64}: one}, nil},
		"a late number":     {map[Number]gpu.BDF{{Major: 226, Minor: 1}: one, {Major: 226, Minor: 192}: one}, nil},
	} {
		if diff := cmp.Diff(c.want, Devices{numbers: c.numbers}.Cards()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
