// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestGroups: the group of every node is found again, and nodeGids are there only where
// gids do not say it.
func TestGroups(t *testing.T) {
	nodes := []string{"/dev/a", "/dev/b"}
	for name, tt := range map[string]struct {
		owner map[string]uint32
		gids  []uint32
		more  bool
	}{
		"open":           {nil, nil, false},
		"one group":      {map[string]uint32{"/dev/a": 44, "/dev/b": 44}, []uint32{44}, false},
		"one is open":    {map[string]uint32{"/dev/b": 44}, []uint32{44}, true},
		"of two groups":  {map[string]uint32{"/dev/a": 105, "/dev/b": 44}, []uint32{44, 105}, true},
		"the same twice": {map[string]uint32{"/dev/a": 7, "/dev/b": 7}, []uint32{7}, false},
	} {
		gids, more := Groups(nodes, tt.owner)
		if diff := cmp.Diff(tt.gids, gids); diff != "" || (more != nil) != tt.more {
			t.Errorf("%s: %v, %v", name, gids, more)
		}
		for _, node := range nodes {
			if got := NodeGID(node, gids, more); got != tt.owner[node] {
				t.Errorf("%s: the group of %s is %d, want %d", name, node, got, tt.owner[node])
			}
		}
	}
	if got := NodeGID("/dev/a", []uint32{44, 105}, nil); got != 0 {
		t.Errorf("one of two groups: %d, want 0", got)
	}
}

func TestNodeGIDsOfOtherNodes(t *testing.T) {
	n := NewNode("")
	n.Shared = &Shared{Nodes: []string{"/dev/mxcd"}, GIDs: []uint32{44}, NodeGIDs: map[string]uint32{"/etc/shadow": 44}}
	if err := n.Check(); err == nil {
		t.Error("a path that is no node is accepted")
	}
}
