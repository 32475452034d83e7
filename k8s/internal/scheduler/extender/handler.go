// SPDX-License-Identifier: Apache-2.0

package extender

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol/foreign"
	"github.com/metax-ctk/container-toolkit/k8s/internal/scheduler/nodescore"
)

// Extender answers kube-scheduler and Volcano.
type Extender struct {
	Cluster *Cluster
	// Questions hears of each question; nil does not.
	Questions *Questions
	// Ready returns nil when the Cluster is known.
	Ready func() error
	// MaxBody is the size of the largest question, in bytes.
	MaxBody int64
	Log     *slog.Logger
	Metrics *Metrics

	weights atomic.Pointer[protocol.Weights]
	seen    atomic.Pointer[foreign.VolcanoSeen]
}

// Weigh sets the weights by which nodes are compared.
func (e *Extender) Weigh(w protocol.Weights) { e.weights.Store(&w) }

// A scheduler asks one question after the other. A question has a place only while it is
// answered, so a client that sends or reads slowly does not hold one.
const (
	maxPlaces   = 4         // questions that are answered at a time, of the small ones and of the others
	maxSmall    = 256 << 10 // bytes of a small one: names of 5,000 nodes and a pod, as they usually are
	maxBuffered = 4         // how many times MaxBody all questions may have in memory
)

// form reads the text of a question, and returns its pod and what is said to it.
type form func(text []byte) (*corev1.Pod, decision, error)

// decision returns the answer to a question, once the request of its pod is known.
type decision func(nodescore.Request) any

// Handler answers POST /filter and /prioritize of kube-scheduler, and POST /volcano/predicate
// and /volcano/prioritize of Volcano.
func (e *Extender) Handler() http.Handler {
	mux := http.NewServeMux()
	small, large := make(chan struct{}, maxPlaces), make(chan struct{}, maxPlaces)
	memory := &budget{limit: maxBuffered * e.MaxBody}
	for verb, read := range map[string]form{
		"filter": e.readKube(e.filter), "prioritize": e.readKube(e.prioritize),
		"volcano/predicate": e.readVolcano(e.fit), "volcano/prioritize": e.readVolcano(e.score),
	} {
		mux.HandleFunc("POST /"+verb, func(w http.ResponseWriter, r *http.Request) {
			began := time.Now()
			body := memory.openBody(w, r, e.MaxBody)
			defer body.releaseBudget()
			text, code, err := body.readText()
			places := small
			if len(text) > maxSmall {
				places = large
			}
			if err == nil {
				text, code, err = e.answer(body.ctx, places, text, read)
			}
			if err != nil {
				e.fail(w, verb, code, err)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(text) // a scheduler that does not wait any more asks again
			e.Metrics.countAnswer(verb, "ok", time.Since(began))
		})
	}
	return mux
}

// answer returns the answer to the text of a question. The code is that of the error.
func (e *Extender) answer(ctx context.Context, places chan struct{}, text []byte,
	read form,
) (answer []byte, code int, err error) {
	late := time.NewTimer(placeTime)
	defer late.Stop()
	select {
	case places <- struct{}{}:
		defer func() { <-places }()
	case <-ctx.Done():
		return nil, http.StatusServiceUnavailable, errBusy
	case <-late.C:
		return nil, http.StatusServiceUnavailable, errBusy
	}
	pod, decide, err := read(text)
	if err != nil {
		return nil, http.StatusBadRequest, err
	}
	if e.Questions != nil {
		e.Questions.Ask(pod)
	}
	if err := e.Ready(); err != nil {
		return nil, http.StatusServiceUnavailable, err
	}
	request, mistakes := nodescore.RequestOf(pod, e.Cluster.resource, e.Cluster.policy)
	for _, mistake := range mistakes {
		e.Log.Debug("an annotation of a pod does not count", "pod", pod.Name, "namespace", pod.Namespace, "reason",
			mistake.Error())
	}
	answer, err = json.Marshal(decide(request))
	return answer, http.StatusInternalServerError, err
}

// podAnnotations are those that nodescore.RequestOf reads.
var podAnnotations = []string{
	protocol.HAMiPolicyAnnotation, protocol.PolicyAnnotation, protocol.GPUsAnnotation,
	protocol.MACAAnnotation,
}

// placeTime is how long a question waits for a place; a scheduler waits a second for its
// answer.
const placeTime = time.Second

// errBusy says that there are too many questions.
var errBusy = errors.New("too many questions at a time")

func (e *Extender) fail(w http.ResponseWriter, verb string, code int, err error) {
	e.Metrics.countAnswer(verb, "error", 0)
	e.Log.Warn("a question of the scheduler is not answered", "verb", verb, "reason", err.Error())
	http.Error(w, err.Error(), code)
}

// readKube reads questions of kube-scheduler.
func (e *Extender) readKube(decide func(foreign.ExtenderArgs, nodescore.Request) any) form {
	return func(text []byte) (*corev1.Pod, decision, error) {
		args, err := foreign.ParseExtenderArgs(text, e.Cluster.resource, podAnnotations...)
		return args.Pod, func(r nodescore.Request) any { return decide(args, r) }, err
	}
}

func (e *Extender) filter(args foreign.ExtenderArgs, r nodescore.Request) any {
	if r.GPUs == 0 {
		return args.Keep(func(int) bool { return true })
	}
	judged := e.Cluster.Judge(args.Names(), nil, r)
	answer := args.Keep(func(i int) bool { return judged[i].Fits })
	answer.FailedNodes, answer.FailedAndUnresolvableNodes = map[string]string{}, map[string]string{}
	for _, j := range judged {
		switch {
		case j.Fits: // kept
		case j.Never:
			answer.FailedAndUnresolvableNodes[j.Node] = j.Reason
		default:
			answer.FailedNodes[j.Node] = j.Reason
		}
	}
	e.Metrics.countRefusals(len(answer.FailedNodes) + len(answer.FailedAndUnresolvableNodes))
	e.Log.Debug("filtered", "pod", args.Pod.Name, "namespace", args.Pod.Namespace, "gpus", r.GPUs, "nodes", len(judged),
		"refused", len(answer.FailedNodes)+len(answer.FailedAndUnresolvableNodes))
	return answer
}

func (e *Extender) prioritize(args foreign.ExtenderArgs, r nodescore.Request) any {
	names := args.Names()
	answer := make([]foreign.HostPriority, len(names))
	ranks := e.rank(names, nil, r)
	for i, name := range names {
		answer[i] = foreign.HostPriority{Host: name, Score: int64(ranks[i])}
	}
	return answer
}

// rank returns the rank of each node: 0 to nodescore.MaxRank.
func (e *Extender) rank(names []string, session map[string]foreign.VolcanoNode, r nodescore.Request) []int {
	if r.GPUs == 0 {
		return make([]int, len(names))
	}
	judged := e.Cluster.Judge(names, session, r)
	e.Metrics.countJudgements(judged)
	var weights protocol.Weights
	if w := e.weights.Load(); w != nil {
		weights = *w
	}
	return nodescore.Ranks(judged, r, weights)
}
