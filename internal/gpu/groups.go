// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"fmt"
	"maps"
	"slices"
)

// Groups returns the fields GIDs and NodeGIDs of a GPU, a slice or Shared; NodeGIDs only if
// GIDs is not the one group of all nodes. owner has the group of each node that not everyone
// may open and that is not root's alone.
func Groups(nodes []string, owner map[string]uint32) (gids []uint32, nodeGIDs map[string]uint32) {
	gids = slices.Sorted(maps.Values(owner))
	gids = slices.Compact(gids)
	if len(gids) == 0 || (len(gids) == 1 && len(owner) == len(nodes)) {
		return gids, nil
	}
	return gids, owner
}

// NodeGID returns the group of a node, from the results of Groups; 0 if the node needs no
// group, or if the Node has several groups and does not say which is that of each node.
func NodeGID(node string, gids []uint32, nodeGIDs map[string]uint32) uint32 {
	if nodeGIDs == nil && len(gids) == 1 {
		return gids[0]
	}
	return nodeGIDs[node]
}

// checkNodes returns an error for paths that checkPaths refuses, and for a group of a
// node that is not among them.
func checkNodes(nodes []string, nodeGIDs map[string]uint32) error {
	if err := checkPaths(nodes); err != nil {
		return err
	}
	for _, path := range slices.Sorted(maps.Keys(nodeGIDs)) {
		if !slices.Contains(nodes, path) {
			return fmt.Errorf("nodeGids has %q, which is not among its nodes", path)
		}
	}
	return nil
}
