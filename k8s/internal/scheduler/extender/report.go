// SPDX-License-Identifier: Apache-2.0

package extender

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"log/slog"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
	"github.com/metax-ctk/container-toolkit/k8s/internal/scheduler/nodescore"
)

// patience is how long a problem of a node must last until it is reported. A plugin that
// starts, or that is replaced, takes less.
const patience = time.Minute

// Reporter writes an Event about each node whose annotations have a problem that lasts, and
// about pods that a scheduler placed without a question.
type Reporter struct {
	Client interface {
		corev1client.EventsGetter
		corev1client.ConfigMapsGetter
	}
	// Namespace is that of the ConfigMap protocol.AskedConfigMap.
	Namespace string
	Metrics   *Metrics
	Log       *slog.Logger

	since map[string]lasting
}

// lasting is a problem of a node.
type lasting struct {
	kind     nodescore.ProblemKind
	since    time.Time
	reported bool
}

// Run looks at the problems of the Cluster and at the Questions until ctx ends.
func (r *Reporter) Run(ctx context.Context, c *Cluster, q *Questions) {
	ticker := time.NewTicker(10 * time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			r.questions(context.WithoutCancel(ctx), q, time.Now(), true)
			return
		case now := <-ticker.C:
			r.report(ctx, c.Problems(), now)
			r.questions(ctx, q, now, false)
		}
	}
}

// report writes the Events that are due.
func (r *Reporter) report(ctx context.Context, problems map[string]nodescore.Problem, now time.Time) {
	since := map[string]lasting{}
	for node, p := range problems {
		is := lasting{kind: p.Kind, since: now}
		if was := r.since[node]; was.kind == p.Kind {
			is = was
		}
		if !is.reported && now.Sub(is.since) >= patience {
			is.reported = r.write(ctx, node, p, now)
		}
		since[node] = is
	}
	r.since = since
}

// mostEvents is how many Events about pods are written at a look. A scheduler that does not
// ask is one problem.
const mostEvents = 10

// questions writes what the Questions have to tell. At the end of the program, no question is
// left unwritten.
func (r *Reporter) questions(ctx context.Context, q *Questions, now time.Time, end bool) {
	unasked, write := q.collectDue(end)
	for i, p := range unasked {
		r.Metrics.unasked.WithLabelValues(p.scheduler).Inc()
		if i == mostEvents {
			r.Log.Warn("more pods were placed without a question", "pods", len(unasked)-i)
		}
		if i >= mostEvents {
			continue
		}
		r.Log.Warn("a pod was placed without a question", "pod", p.name, "namespace", p.namespace, "scheduler", p.scheduler)
		if err := r.create(ctx, unaskedEvent(p, now)); err != nil {
			r.Log.Warn("an Event could not be written", "pod", p.name, "namespace", p.namespace, "error", err.Error())
		}
	}
	if len(write) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	patch, err := json.Marshal(map[string]any{"data": write})
	if err == nil {
		_, err = r.Client.ConfigMaps(r.Namespace).Patch(ctx, protocol.AskedConfigMap, types.MergePatchType, patch,
			metav1.PatchOptions{FieldManager: protocol.Aware})
	}
	if err != nil {
		r.Log.Warn("which schedulers ask could not be written; trying again", "configmap", protocol.AskedConfigMap, "error",
			err.Error())
	}
}

// unaskedEvent is about a pod that its scheduler placed without a question.
func unaskedEvent(p placed, now time.Time) corev1.Event {
	e := newEvent("Pod", p.name, now, p.uid)
	e.Namespace, e.InvolvedObject.Namespace, e.InvolvedObject.UID = p.namespace, p.namespace, types.UID(p.uid)
	e.Reason = protocol.NotAskedReason
	e.Message = fmt.Sprintf(
		"%s placed this pod without asking metax-gpu-aware, so the links between GPUs did not count (docs/kubernetes-schedulers.md)", p.scheduler)
	return e
}

// Weights writes an Event about the mistakes of the ConfigMap with the weights.
func (r *Reporter) Weights(ctx context.Context, namespace, name string, problems []string, now time.Time) {
	e := newEvent("ConfigMap", name, now, strings.Join(problems, "\n"))
	e.Namespace, e.InvolvedObject.Namespace, e.InvolvedObject.UID = namespace, namespace, ""
	e.Reason, e.Message = "MetaXGPUWeightsInvalid", fmt.Sprintf(
		"metax-gpu-aware keeps the weights that it had, and after a restart the policy decides: %.800s", strings.Join(
			problems, "; "))
	if err := r.create(ctx, e); err != nil {
		r.Log.Warn("an Event could not be written", "configmap", name, "error", err.Error())
	}
}

// create writes an Event, unless it is there.
func (r *Reporter) create(ctx context.Context, e corev1.Event) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	_, err := r.Client.Events(e.Namespace).Create(ctx, &e, metav1.CreateOptions{FieldManager: protocol.Aware})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// write writes an Event. Several extenders of one cluster write the same one, which is there
// once.
func (r *Reporter) write(ctx context.Context, node string, p nodescore.Problem, now time.Time) bool {
	if err := r.create(ctx, eventOf(node, p, now)); err != nil {
		r.Log.Warn("an Event could not be written; trying again", "node", node, "error", err.Error())
		return false
	}
	r.Log.Warn("a node is judged by counts", "node", node, "problem", p.Kind, "reason", p.Text)
	return true
}

var reasons = map[nodescore.ProblemKind]string{
	nodescore.Missing: "MetaXGPUTopologyMissing", nodescore.Malformed: "MetaXGPUTopologyInvalid",
	nodescore.Stale: "MetaXGPUTopologyStale",
}

func eventOf(node string, p nodescore.Problem, now time.Time) corev1.Event {
	e := newEvent("Node", node, now, fmt.Sprint(p.Kind))
	e.Reason = reasons[p.Kind]
	e.Message = fmt.Sprintf(
		"metax-gpu-aware does not prefer this node and judges it by counts: %.800s. See the log of metax-gpu-device on the node.", p.Text)
	return e
}

// newEvent is a warning about an object, of the namespace default. There is one for each
// difference in an hour, which is how long Events live.
func newEvent(kind, about string, now time.Time, difference string) corev1.Event {
	at := metav1.NewTime(now.UTC())
	name := fnv.New64a()
	fmt.Fprint(name, about, "\n", difference, "\n", now.UTC().Format("2006-01-02T15"))
	return corev1.Event{
		ObjectMeta: metav1.ObjectMeta{
			Name:      fmt.Sprintf("%s.%x", protocol.Aware, name.Sum64()),
			Namespace: metav1.NamespaceDefault,
		},
		InvolvedObject: corev1.ObjectReference{Kind: kind, Name: about, UID: types.UID(about), APIVersion: "v1"},
		Type:           corev1.EventTypeWarning, FirstTimestamp: at, LastTimestamp: at, Count: 1,
		Source: corev1.EventSource{Component: protocol.Aware}, ReportingController: protocol.Aware, ReportingInstance: about,
	}
}
