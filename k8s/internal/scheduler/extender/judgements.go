// SPDX-License-Identifier: Apache-2.0

package extender

import "github.com/metax-ctk/container-toolkit/k8s/internal/scheduler/nodescore"

// judgements are the latest of a node, each of another request: pods have few different ones.
type judgements []judged

type judged struct {
	nodescore.Request
	nodescore.Judgement
}

// maxJudgements is how many of a node are remembered.
const maxJudgements = 8

// add remembers a judgement. Two questions at a time may judge alike; the second adds none.
func (s *judgements) add(j judged) {
	switch {
	case s.find(j.Request) != nil: // it is known
	case len(*s) == maxJudgements:
		*s = judgements{j}
	default:
		*s = append(*s, j)
	}
}

// find returns the judgement of a request, or nil.
func (s *judgements) find(r nodescore.Request) *nodescore.Judgement {
	for i := range *s {
		if j := &(*s)[i]; j.Request == r {
			return &j.Judgement
		}
	}
	return nil
}
