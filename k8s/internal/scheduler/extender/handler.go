package extender

import (
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol/foreign"
	"github.com/metax-ctk/container-toolkit/k8s/internal/scheduler/nodescore"
)

// Extender answers kube-scheduler.
type Extender struct {
	Cluster *Cluster
	// Ready returns nil when the Cluster is known.
	Ready func() error
	// MaxBody is the size of the largest question, in bytes.
	MaxBody int64
	Log     *slog.Logger
	Metrics *Metrics

	weights atomic.Pointer[protocol.Weights]
}

// Weigh sets the weights by which nodes are compared.
func (e *Extender) Weigh(w protocol.Weights) { e.weights.Store(&w) }

// A scheduler asks one question after the other. A question has a place only while it is answered, so a client that
// sends or reads slowly does not hold one.
const (
	maxPlaces   = 16 // questions that are answered at a time
	maxBuffered = 2  // how many times MaxBody all questions may have in memory
)

// Handler answers POST /filter and /prioritize.
func (e *Extender) Handler() http.Handler {
	mux := http.NewServeMux()
	places := make(chan struct{}, maxPlaces)
	var buffered atomic.Int64
	for verb, decide := range map[string]decision{"filter": e.filter, "prioritize": e.prioritize} {
		mux.HandleFunc("POST /"+verb, func(w http.ResponseWriter, r *http.Request) {
			began := time.Now()
			body := &counted{Reader: http.MaxBytesReader(w, r.Body, e.MaxBody), all: &buffered, limit: maxBuffered * e.MaxBody}
			defer body.forget()
			text, code, err := readAll(body)
			if err == nil {
				text, code, err = e.answer(places, text, decide)
			}
			if err != nil {
				e.fail(w, verb, code, err)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(text) // a scheduler that does not wait any more asks again
			e.Metrics.answered(verb, "ok", time.Since(began))
		})
	}
	return mux
}

// decision is what one verb says to a question.
type decision func(foreign.ExtenderArgs, nodescore.Request) any

// answer returns the answer to the text of a question. The code is that of the error.
func (e *Extender) answer(places chan struct{}, text []byte, decide decision) (answer []byte, code int, err error) {
	select {
	case places <- struct{}{}:
		defer func() { <-places }()
	default:
		return nil, http.StatusServiceUnavailable, errBusy
	}
	if err := e.Ready(); err != nil {
		return nil, http.StatusServiceUnavailable, err
	}
	args, err := foreign.ParseExtenderArgs(text)
	if err != nil {
		return nil, http.StatusBadRequest, err
	}
	request, mistakes := nodescore.RequestOf(args.Pod, e.Cluster.resource, e.Cluster.policy)
	for _, mistake := range mistakes {
		e.Log.Debug("an annotation of a pod does not count", "pod", args.Pod.Name, "namespace", args.Pod.Namespace, "reason", mistake.Error())
	}
	answer, err = json.Marshal(decide(args, request))
	return answer, http.StatusInternalServerError, err
}

// errBusy says that there are too many questions.
var errBusy = errors.New("too many questions at a time")

// readAll reads the text of a question. The code is that of the error.
func readAll(body io.Reader) (text []byte, code int, err error) {
	text, err = io.ReadAll(body)
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return nil, http.StatusRequestEntityTooLarge, errors.New("the question is too large: set nodeCacheCapable to true, or raise --max-body")
	}
	if errors.Is(err, errBusy) {
		return nil, http.StatusServiceUnavailable, err
	}
	return text, http.StatusBadRequest, err
}

// counted reads one question, and fails while the questions that are buffered have more bytes than the limit.
type counted struct {
	io.Reader
	all         *atomic.Int64 // bytes of all questions
	mine, limit int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.mine += int64(n)
	if c.all.Add(int64(n)) > c.limit {
		err = errBusy
	}
	return n, err
}

// forget no longer counts the question.
func (c *counted) forget() { c.all.Add(-c.mine) }

func (e *Extender) fail(w http.ResponseWriter, verb string, code int, err error) {
	e.Metrics.answered(verb, "error", 0)
	e.Log.Warn("a question of the scheduler is not answered", "verb", verb, "reason", err.Error())
	http.Error(w, err.Error(), code)
}

func (e *Extender) filter(args foreign.ExtenderArgs, r nodescore.Request) any {
	if r.GPUs == 0 {
		return args.Keep(func(int) bool { return true })
	}
	judged := e.Cluster.Judge(args.Names(), r)
	answer := args.Keep(func(i int) bool { return judged[i].Fits })
	answer.FailedNodes, answer.FailedAndUnresolvableNodes = map[string]string{}, map[string]string{}
	for _, j := range judged {
		switch {
		case j.Fits:
		case j.Never:
			answer.FailedAndUnresolvableNodes[j.Node] = j.Reason
		default:
			answer.FailedNodes[j.Node] = j.Reason
		}
	}
	e.Metrics.refused(len(answer.FailedNodes) + len(answer.FailedAndUnresolvableNodes))
	e.Log.Debug("filtered", "pod", args.Pod.Name, "namespace", args.Pod.Namespace, "gpus", r.GPUs, "nodes", len(judged), "refused", len(answer.FailedNodes)+len(answer.FailedAndUnresolvableNodes))
	return answer
}

func (e *Extender) prioritize(args foreign.ExtenderArgs, r nodescore.Request) any {
	names := args.Names()
	answer := make([]foreign.HostPriority, len(names))
	for i, name := range names {
		answer[i].Host = name
	}
	if r.GPUs == 0 {
		return answer
	}
	judged := e.Cluster.Judge(names, r)
	var weights protocol.Weights
	if w := e.weights.Load(); w != nil {
		weights = *w
	}
	for i, rank := range nodescore.Ranks(judged, r, weights) {
		answer[i].Score = int64(rank)
	}
	e.Metrics.judged(judged)
	return answer
}
