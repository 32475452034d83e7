// SPDX-License-Identifier: Apache-2.0

package extender

import (
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

const (
	// mostAsked is about how many pods a Questions remembers the questions, and mostUnasked
	// how many pods wait for a verdict: a burst of a large cluster.
	mostAsked, mostUnasked = 8192, 1024
	// settle is how long a pod waits for a verdict: another extender that had the question
	// writes it in this time.
	settle = 30 * time.Second
	// asksFor is how long after a question a scheduler counts as one that asks: a pod that
	// waits for a volume is placed so long after its question, at most.
	asksFor = 10 * time.Minute
	// between is how long a scheduler that asks all the time is not written again.
	between = time.Minute
)

// Questions knows about which pods schedulers asked, and finds those that one placed without a
// question. It is safe for concurrent use.
type Questions struct {
	schedulers []string // that are meant to ask
	now        func() time.Time

	mu      sync.Mutex
	asked   map[string]bool // by UID
	uids    []string        // of asked, as a ring
	next    int
	last    map[string]time.Time      // latest question, by scheduler
	shared  map[string]protocol.Asked // what all extenders have written
	unasked []placed
}

// placed is a pod that a scheduler placed and that no question was about.
type placed struct {
	namespace, name, uid, scheduler string
	at                              time.Time
}

// NewQuestions returns a Questions about these schedulers.
func NewQuestions(schedulers []string) *Questions {
	return &Questions{schedulers: schedulers, now: time.Now, asked: map[string]bool{}, last: map[string]time.Time{}}
}

// Ask records a question about a pod.
func (q *Questions) Ask(pod *corev1.Pod) {
	uid := string(pod.UID)
	q.mu.Lock()
	defer q.mu.Unlock()
	if slices.Contains(q.schedulers, pod.Spec.SchedulerName) {
		q.last[pod.Spec.SchedulerName] = q.now()
	}
	if uid == "" || q.asked[uid] {
		return
	}
	if len(q.uids) < mostAsked {
		q.uids = append(q.uids, uid)
	} else {
		delete(q.asked, q.uids[q.next])
		q.uids[q.next] = uid
		q.next = (q.next + 1) % mostAsked
	}
	q.asked[uid] = true
}

// Place records a pod with GPUs that is on a node since now. One that names its node itself
// was placed by nobody: it has no condition yet when it is seen first.
func (q *Questions) Place(pod *corev1.Pod) {
	if !slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodScheduled && c.Status == corev1.ConditionTrue
	}) {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if slices.Contains(q.schedulers, pod.Spec.SchedulerName) && !q.asked[string(pod.UID)] && len(q.unasked) < mostUnasked {
		q.unasked = append(q.unasked, placed{
			namespace: pod.Namespace, name: pod.Name, uid: string(pod.UID),
			scheduler: pod.Spec.SchedulerName, at: q.now(),
		})
	}
}

// Share takes what all extenders have written.
func (q *Questions) Share(data map[string]string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.shared = protocol.ParseAsked(data)
}

// collectDue returns the pods about which nobody was asked, and what is to be written for all
// extenders. With end, no question is left unwritten.
func (q *Questions) collectDue(end bool) (unasked []placed, write map[string]string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.now()
	var open []placed
	for _, p := range q.unasked {
		last := q.last[p.scheduler]
		if shared := q.shared[p.scheduler].Last; shared.After(last) {
			last = shared
		}
		switch {
		case now.Sub(p.at) < settle:
			open = append(open, p)
		case p.at.Sub(last) > asksFor:
			unasked = append(unasked, p)
		}
	}
	q.unasked = open
	write = map[string]string{}
	for _, name := range q.schedulers {
		is, last := q.shared[name], q.last[name].Truncate(time.Second)
		if last.After(is.Last) && (end || is.IsSilent() || last.Sub(is.Last) >= between) {
			write[protocol.AskedKey+name] = last.UTC().Format(time.RFC3339)
		}
	}
	for _, p := range unasked { // the latest is the last
		if is := q.shared[p.scheduler]; !is.IsSilent() || p.at.Sub(is.Unasked) >= asksFor {
			write[protocol.UnaskedKey+p.scheduler] = p.at.UTC().Format(time.RFC3339) + " " + p.namespace + "/" + p.name
		}
	}
	return unasked, write
}
