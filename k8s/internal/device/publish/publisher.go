// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/metax-ctk/container-toolkit/internal/health"
	"github.com/metax-ctk/container-toolkit/k8s/internal/objects"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol/foreign"
)

// API is the part of the API server that a Publisher needs; a client of the core group fits.
type API interface {
	corev1client.NodesGetter
	corev1client.EventsGetter
}

// Publisher writes what is known of one node. Its methods can be called by several goroutines.
type Publisher struct {
	client API
	node   string
	log    *slog.Logger

	mu      sync.Mutex
	facts   *Facts // the newest; nil if Run has them, or there were none
	notices []Notice
	wake    chan struct{}

	// Of Run alone.
	written    *Values
	at         time.Time // of the last write
	generation int64
	refused    int                    // Events in a row
	uid        types.UID              // of the Node
	conditions []corev1.NodeCondition // that the Node has, of our types; nil if the Node was not read yet
}

// New returns a Publisher for the Node of that name.
func New(client API, node string, log *slog.Logger) *Publisher {
	return &Publisher{client: client, node: node, log: log, wake: make(chan struct{}, 1)}
}

// rewriteTime is how long a write is trusted. After it, the same values are written again,
// which changes nothing in a Node that still has them.
const rewriteTime = 10 * time.Minute

// isWritten reports whether the Node should have the values.
func (p *Publisher) isWritten(v Values) bool {
	return p.written != nil && reflect.DeepEqual(v, *p.written) && time.Since(p.at) < rewriteTime
}

// maxNotices is how many notices wait for the API server; the oldest go first.
const maxNotices = 256

// Set gives the Publisher the newest Facts, the changes of health since the last ones, and
// what else happened. It does not wait.
func (p *Publisher) Set(f Facts, changes []health.Change, more ...Notice) {
	p.mu.Lock()
	p.facts = &f
	for _, c := range changes {
		if n, ok := healthNotice(c); ok {
			p.notices = append(p.notices, n)
		}
	}
	p.notices = append(p.notices, more...)
	if extra := len(p.notices) - maxNotices; extra > 0 {
		p.notices = p.notices[extra:]
	}
	p.mu.Unlock()
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// Run writes what Set gives, until the context ends.
func (p *Publisher) Run(ctx context.Context) {
	var join, events joiner // events of their own: what holds them up must not hold up the Node
	var maker maker
	var values Values
	var said string
	timer := time.NewTimer(0)
	<-timer.C
	defer timer.Stop()
	for {
		timer.Stop()
		if next := earlier(join.due, events.due); !next.IsZero() {
			timer.Reset(time.Until(next))
		}
		select {
		case <-ctx.Done():
			return
		case <-p.wake:
			if f, noticed := p.take(); f != nil {
				v, err := maker.values(*f)
				if err != nil && err.Error() != said {
					said = err.Error()
					p.log.Warn("not all is published", "error", said)
				}
				urgent := v.Annotations[foreign.RegistrationAnnotation] != values.Annotations[foreign.RegistrationAnnotation]
				values = v
				if noticed {
					events = events.changed(time.Now())
				}
				if !p.isWritten(values) {
					join = join.changed(time.Now())
					if urgent && join.failed == 0 {
						join.due = time.Now() // schedulers decide by it
					}
				}
			}
		case <-timer.C:
			if join.isDue(time.Now()) {
				err := p.write(ctx, values)
				if err != nil && ctx.Err() == nil {
					p.log.Warn("the node's GPUs could not be published; trying again", "error", err.Error(), "failures", join.failed+1)
				}
				join = join.wrote(err, time.Now())
			}
			if events.isDue(time.Now()) {
				err := p.writeEvents(ctx)
				if err != nil && ctx.Err() == nil {
					p.log.Warn("an Event could not be written; trying again", "error", err.Error(), "failures", events.failed+1)
				}
				events = events.wrote(err, time.Now())
			}
		}
	}
}

// take returns the newest Facts, nil if there are none, and whether there are events to write.
func (p *Publisher) take() (f *Facts, events bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f, p.facts = p.facts, nil
	return f, len(p.notices) > 0
}

// writeTime bounds one write.
const writeTime = 30 * time.Second

// write writes what differs from what was written.
func (p *Publisher) write(ctx context.Context, v Values) error {
	ctx, cancel := context.WithTimeout(ctx, writeTime)
	defer cancel()
	if p.conditions == nil || time.Since(p.at) >= rewriteTime {
		if err := p.readNode(ctx); err != nil {
			return err
		}
	}
	if !p.isWritten(v) {
		if err := p.writeNode(ctx, v); err != nil {
			p.conditions, p.written = nil, nil // the Node may be another one now
			return err
		}
		p.written, p.at = &v, time.Now()
	}
	return nil
}

// readNode reads the conditions and the generation that an earlier Publisher wrote.
func (p *Publisher) readNode(ctx context.Context) error {
	n, err := p.client.Nodes().Get(ctx, p.node, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read the Node: %w", err)
	}
	p.uid, p.conditions = n.UID, []corev1.NodeCondition{}
	for _, c := range n.Status.Conditions {
		if slices.Contains([]corev1.NodeConditionType{
			protocol.UnhealthyCondition, protocol.LostCondition,
			protocol.ModePendingCondition,
		}, c.Type) {
			p.conditions = append(p.conditions, c)
		}
	}
	p.generation = max(p.generation, protocol.Generation(n.Annotations[protocol.StateAnnotation]))
	return nil
}

func (p *Publisher) writeNode(ctx context.Context, v Values) error {
	state := v.State
	state.Generation = p.generation
	if p.written == nil || !reflect.DeepEqual(v.State, p.written.State) ||
		!reflect.DeepEqual(v.Annotations, p.written.Annotations) {
		state.Generation++
	}
	annotations := maps.Clone(v.Annotations)
	annotations[protocol.StateAnnotation] = state.String()
	text, err := nodeText(p.node, p.uid, annotations)
	if err == nil {
		err = p.apply(ctx, text)
	}
	if err != nil {
		return fmt.Errorf("write the annotations of the Node: %w", err)
	}
	p.generation = state.Generation
	conditions := conditionsOf(v, p.conditions, time.Now())
	same := func(a, b corev1.NodeCondition) bool {
		return a.Type == b.Type && a.Status == b.Status && a.Message == b.Message
	}
	if !slices.ContainsFunc(conditions, func(c corev1.NodeCondition) bool {
		return !slices.ContainsFunc(p.conditions, func(old corev1.NodeCondition) bool { return same(c, old) })
	}) {
		return nil
	}
	if text, err = nodeText(p.node, p.uid, nil, conditions...); err == nil {
		err = p.apply(ctx, text, "status")
	}
	if err != nil {
		return fmt.Errorf("write the conditions of the Node: %w", err)
	}
	p.conditions = conditions
	return nil
}

func (p *Publisher) apply(ctx context.Context, text []byte, subresources ...string) error {
	force := true // the keys are ours, whoever wrote them before
	_, err := p.client.Nodes().Patch(ctx, p.node, types.ApplyPatchType, text,
		metav1.PatchOptions{FieldManager: protocol.Device, Force: &force}, subresources...)
	return err
}

// maxRefused is how often an Event may be refused, if none was written since the first time: a
// server that has just started also forbids what it permits a moment later.
const maxRefused = 4

// writeEvents writes the Events of the notices. Those that are written do not come again if a
// later one fails, and neither does one that the API server refuses, as by a quota.
func (p *Publisher) writeEvents(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, writeTime)
	defer cancel()
	for {
		p.mu.Lock()
		if len(p.notices) == 0 {
			p.mu.Unlock()
			return nil
		}
		notice := p.notices[0]
		p.notices = p.notices[1:]
		p.mu.Unlock()
		e := eventOf(p.node, notice, time.Now())
		_, err := p.client.Events(e.Namespace).Create(ctx, &e, metav1.CreateOptions{FieldManager: protocol.Device})
		if !objects.IsRefusal(err) {
			p.refused = 0
		} else if p.refused++; p.refused >= maxRefused {
			p.log.Warn("an Event is lost: the API server refuses it", "reason", notice.Reason, "message", notice.Message,
				"error", err.Error())
			continue
		}
		if err != nil {
			p.mu.Lock()
			p.notices = append([]Notice{notice}, p.notices...)
			p.mu.Unlock()
			return fmt.Errorf("write an Event: %w", err)
		}
	}
}
