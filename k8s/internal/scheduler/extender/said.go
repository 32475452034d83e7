// SPDX-License-Identifier: Apache-2.0

package extender

import "github.com/metax-ctk/container-toolkit/k8s/internal/scheduler/nodescore"

// said has the latest judgements of a node, at most maxSaid, each of another request: pods have few
// different ones.
type said []verdict

type verdict struct {
	nodescore.Request
	nodescore.Judgement
}

// maxSaid is of how many requests judgements of a node are remembered.
const maxSaid = 8

// add remembers a verdict. Two questions at a time may judge alike; the second changes nothing.
func (s *said) add(v verdict) {
	switch {
	case s.find(v.Request) != nil: // known
	case len(*s) == maxSaid:
		*s = said{v}
	default:
		*s = append(*s, v)
	}
}

// find returns what was said about a request, or nil.
func (s *said) find(r nodescore.Request) *nodescore.Judgement {
	for i := range *s {
		if v := &(*s)[i]; v.Request == r {
			return &v.Judgement
		}
	}
	return nil
}
