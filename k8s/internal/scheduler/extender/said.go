// SPDX-License-Identifier: Apache-2.0

package extender

import "github.com/metax-ctk/container-toolkit/k8s/internal/scheduler/nodescore"

// said is what was said of a node. It is searched from its beginning: pods have few different
// requests, and a question is about thousands of nodes.
type said []verdict

type verdict struct {
	nodescore.Request
	nodescore.Judgement
}

// maxSaid bounds the requests of a node that are remembered.
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
