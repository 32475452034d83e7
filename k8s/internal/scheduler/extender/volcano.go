// SPDX-License-Identifier: Apache-2.0

package extender

import (
	"errors"

	corev1 "k8s.io/api/core/v1"

	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol/foreign"
	"github.com/metax-ctk/container-toolkit/k8s/internal/scheduler/nodescore"
)

// volcanoPoint is what a rank is worth to Volcano, which has no weight for its plugin
// extender: as much as to kube-scheduler with the weight 500, more than the other plugins
// have together.
const volcanoPoint = 5000

var errNoNode = errors.New("invalid question of Volcano: it has no node")

// readVolcano reads questions of Volcano.
func (e *Extender) readVolcano(decide func(foreign.VolcanoArgs, nodescore.Request) any) form {
	return func(text []byte) (*corev1.Pod, decision, error) {
		seen := e.seen.Load()
		if seen == nil {
			seen = &foreign.VolcanoSeen{}
		}
		args, err := foreign.ParseVolcanoArgs(text, *seen, e.Cluster.resource, podAnnotations...)
		switch {
		case err == nil && len(args.Nodes) == 0:
			err = errNoNode
		case len(args.Nodes) > 1: // not a predicate
			e.seen.Store(&args.Seen)
		}
		return args.Pod, func(r nodescore.Request) any { return decide(args, r) }, err
	}
}

// fit says whether the node of a question fits.
func (e *Extender) fit(args foreign.VolcanoArgs, r nodescore.Request) any {
	if r.GPUs == 0 {
		return foreign.VolcanoFit{}
	}
	names, session := sessionOf(args)
	j := e.Cluster.Judge(names[:1], session, r)[0]
	switch {
	case j.Fits:
		return foreign.VolcanoFit{}
	case j.Never:
		e.Metrics.countRefusals(1)
		return foreign.VolcanoFit{Reason: j.Reason, Code: foreign.VolcanoNeverFits}
	}
	e.Metrics.countRefusals(1)
	return foreign.VolcanoFit{Reason: j.Reason, Code: foreign.VolcanoUnfit}
}

// score says how good the nodes of a question are.
func (e *Extender) score(args foreign.VolcanoArgs, r nodescore.Request) any {
	names, session := sessionOf(args)
	scores := foreign.VolcanoScores{NodeScore: make(map[string]float64, len(names))}
	for i, rank := range e.rank(names, session, r) {
		scores.NodeScore[names[i]] = float64(rank * volcanoPoint)
	}
	return scores
}

// sessionOf returns the names of the nodes of a question, and those of the nodes of which
// Volcano's session knows more than the cluster.
func sessionOf(args foreign.VolcanoArgs) (names []string, session map[string]foreign.VolcanoNode) {
	session = map[string]foreign.VolcanoNode{}
	for _, n := range args.Nodes {
		names = append(names, n.Name)
		if n.Placed != nil || n.Leaving != nil {
			session[n.Name] = n
		}
	}
	return names, session
}
