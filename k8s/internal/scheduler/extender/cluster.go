// SPDX-License-Identifier: Apache-2.0

package extender

import (
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/k8s/internal/objects"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol/foreign"
	"github.com/metax-ctk/container-toolkit/k8s/internal/scheduler/nodescore"
)

// Cluster has what is known of the nodes, and of the pods with GPUs on them. It is safe for
// concurrent use.
type Cluster struct {
	shapes   *nodescore.Shapes
	resource corev1.ResourceName
	policy   key.Policy // of pods that have none
	now      func() time.Time
	// Placed is called with each pod that has come to a node, if it is not nil; not with those
	// of a list, of which it is not known since when they are there.
	Placed func(*corev1.Pod)

	mu    sync.Mutex
	nodes map[string]*nodeEntry
	pods  map[string]podEntry // by namespace and name
}

// nodeEntry is a node; one that is not known yet, but has pods, has no text.
type nodeEntry struct {
	nodescore.Node
	text [4]string // the annotations as they were read
	// judged is what was said of the node as it is. A change replaces it, so an answer that comes
	// late goes to one that nobody reads.
	judged *judgements
}

// expire forgets the pods that are remembered too long.
func (e *nodeEntry) expire(now time.Time) {
	if recent := e.Recent.At(now); len(recent) < len(e.Recent) {
		e.Recent, e.judged = recent, nil
	}
}

type podEntry struct {
	uid, node string
	gpus      int
}

// NewCluster returns a Cluster without nodes, for pods that request the extended resource.
func NewCluster(resource corev1.ResourceName, policy key.Policy) *Cluster {
	return &Cluster{
		shapes: &nodescore.Shapes{}, resource: resource, policy: policy, now: time.Now,
		nodes: map[string]*nodeEntry{}, pods: map[string]podEntry{},
	}
}

// annotations are those of a node that are read.
var annotations = [4]string{
	protocol.NodeAnnotation, protocol.StateAnnotation, protocol.ScoresAnnotation,
	protocol.LossesAnnotation,
}

// Judge judges the nodes with these names for a request. A node that is not known yet fits:
// the scheduler knows it. session has the nodes of which the scheduler knows pods that it may
// not have bound or evicted yet.
func (c *Cluster) Judge(names []string, session map[string]foreign.VolcanoNode,
	r nodescore.Request,
) []nodescore.Judgement {
	all := make([]nodescore.Judgement, len(names))
	open := c.recall(all, names, session, r)
	for _, u := range open {
		all[u.at] = c.shapes.Judge(u.Node, r)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, u := range open {
		u.judged.add(judged{r, all[u.at]})
	}
	return all
}

// unjudged is a node of a question that has to be judged.
type unjudged struct {
	at int // in the question
	nodescore.Node
	judged *judgements // that remembers it
}

// recall sets what is known of the nodes with these names, and returns the others.
func (c *Cluster) recall(all []nodescore.Judgement, names []string, session map[string]foreign.VolcanoNode,
	r nodescore.Request,
) (open []unjudged) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	for i, name := range names {
		e := c.nodes[name]
		if e == nil || e.Name == "" {
			all[i] = nodescore.Judgement{
				Node: name, Fits: true, By: nodescore.Counts,
				Reason: "judged by counts: it is not known yet",
			}
			continue
		}
		e.expire(now)
		if seen, ok := session[name]; ok {
			if is, differs := c.inSession(e.Node, seen, now); differs {
				open = append(open, unjudged{i, is, &judgements{}})
				continue
			}
		}
		if e.judged == nil {
			e.judged = &judgements{}
		}
		if known := e.judged.find(r); known != nil {
			all[i] = *known
			continue
		}
		open = append(open, unjudged{i, e.Node, e.judged})
	}
	return open
}

// inSession returns the node with the pods that are to be bound to it, and without the
// requests of those that are leaving it: their GPUs are not free yet, but a pod can wait for
// them. It reports whether the session differs from what the Cluster knows.
func (c *Cluster) inSession(n nodescore.Node, seen foreign.VolcanoNode,
	now time.Time,
) (_ nodescore.Node, differs bool) {
	for _, pod := range seen.Leaving {
		is := c.pods[podKey(pod)]
		if is.uid == string(pod.UID) && is.node == n.Name {
			n.Requested -= is.gpus
			n.Recent = n.Recent.Without(is.uid)
			differs = true
		}
	}
	for _, pod := range seen.Placed {
		uid := string(pod.UID)
		if c.pods[podKey(pod)].uid == uid { // it is bound
			continue
		}
		r, _ := nodescore.RequestOf(pod, c.resource, c.policy)
		if r.GPUs == 0 {
			continue
		}
		n.Requested += r.GPUs
		n.Recent = n.Recent.Place(uid, r, now)
		differs = true
	}
	return n, differs
}

// Problems returns what is wrong with what the nodes with GPUs publish, by name. A node with
// the vendor's annotations instead of ours has no problem.
func (c *Cluster) Problems() map[string]nodescore.Problem {
	c.mu.Lock()
	defer c.mu.Unlock()
	problems := map[string]nodescore.Problem{}
	now := c.now()
	for name, e := range c.nodes {
		e.expire(now)
		p := e.Contradiction()
		if p == nil || e.Allocatable == 0 || (p.Kind == nodescore.Missing && e.Scores != nil) {
			continue
		}
		problems[name] = *p
	}
	return problems
}

// Counts returns how many nodes have GPUs, and how many pods are not counted by their nodes'
// states.
func (c *Cluster) Counts() (nodes, recent int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.nodes {
		if e.Allocatable > 0 {
			nodes++
		}
		recent += len(e.Recent)
	}
	return nodes, recent
}

func (c *Cluster) setNode(n *corev1.Node) {
	e := c.changedEntry(n.Name)
	q := n.Status.Allocatable[c.resource]
	e.Name, e.Allocatable = n.Name, int(min(max(0, q.Value()), 1<<20))
	var text [4]string
	for i, name := range annotations {
		text[i] = n.Annotations[name]
	}
	if text == e.text && (e.Shape != nil || e.Problem != nil) {
		return
	}
	before := e.Published
	e.text = text
	e.Published = c.shapes.Read(n.Annotations)
	if before.Shape != nil && e.Shape != nil {
		e.Recent = e.Recent.Count(before.State, e.State)
	}
}

// changedEntry returns the entry of a node that changes, without what was said of it.
func (c *Cluster) changedEntry(name string) *nodeEntry {
	e := c.nodes[name]
	if e == nil {
		e = &nodeEntry{}
		c.nodes[name] = e
	}
	e.judged = nil
	return e
}

// deleteNode forgets a node but what its pods request.
func (c *Cluster) deleteNode(name string) {
	if e := c.nodes[name]; e != nil {
		c.nodes[name] = &nodeEntry{Node: nodescore.Node{Requested: e.Requested}}
		c.tidy(name)
	}
}

// tidy removes the entry of a node that is not known and has no pods.
func (c *Cluster) tidy(name string) {
	if e := c.nodes[name]; e.Name == "" && e.Requested == 0 {
		delete(c.nodes, name)
	}
}

func podKey(pod *corev1.Pod) string { return pod.Namespace + "/" + pod.Name }

// placePod is setPod, and calls Placed with a pod that has come to a node.
func (c *Cluster) placePod(pod *corev1.Pod) {
	before := c.pods[podKey(pod)].uid
	c.setPod(pod)
	if is := c.pods[podKey(pod)].uid; c.Placed != nil && is != "" && is != before {
		c.Placed(pod)
	}
}

func (c *Cluster) setPod(pod *corev1.Pod) {
	at := podKey(pod)
	ended := objects.HasEnded(pod)
	r, _ := nodescore.RequestOf(pod, c.resource, c.policy)
	is := podEntry{string(pod.UID), pod.Spec.NodeName, r.GPUs}
	if was := c.pods[at]; was == is && !ended {
		return
	}
	c.deletePod(at)
	if ended || is.node == "" || is.gpus == 0 {
		return
	}
	c.pods[at] = is
	e := c.changedEntry(is.node)
	e.Requested += is.gpus
	if pod.Status.StartTime == nil { // the kubelet has not told that it has seen the pod
		e.Recent = e.Recent.Place(is.uid, r, c.now())
	}
}

func (c *Cluster) deletePod(at string) {
	was, ok := c.pods[at]
	if !ok {
		return
	}
	delete(c.pods, at)
	e := c.changedEntry(was.node)
	e.Requested -= was.gpus
	e.Recent = e.Recent.Without(was.uid)
	c.tidy(was.node)
}

// store is the Cluster as what a reflector fills with the objects of one type. The functions
// are called with the lock.
type store[Object any] struct {
	lock        *sync.Mutex
	name        func(Object) string
	list, place func(Object) // one of a list, and one that has come or changed
	remove      func(name string)
	names       func() []string
}

func nodeStore(c *Cluster) store[*corev1.Node] {
	return store[*corev1.Node]{
		lock: &c.mu, name: func(n *corev1.Node) string { return n.Name },
		list: c.setNode, place: c.setNode, remove: c.deleteNode,
		names: func() []string { return slices.Collect(maps.Keys(c.nodes)) },
	}
}

func podStore(c *Cluster) store[*corev1.Pod] {
	return store[*corev1.Pod]{
		lock: &c.mu, name: podKey, list: c.setPod, place: c.placePod, remove: c.deletePod,
		names: func() []string { return slices.Collect(maps.Keys(c.pods)) },
	}
}

func (s store[Object]) Add(object any) error { return s.Update(object) }

func (s store[Object]) Update(object any) error {
	s.lock.Lock()
	defer s.lock.Unlock()
	if o, ok := object.(Object); ok {
		s.place(o)
	}
	return nil
}

func (s store[Object]) Delete(object any) error {
	s.lock.Lock()
	defer s.lock.Unlock()
	if o, ok := object.(Object); ok {
		s.remove(s.name(o))
	}
	return nil
}

func (s store[Object]) Replace(found []any, _ string) error {
	s.lock.Lock()
	defer s.lock.Unlock()
	here := map[string]bool{}
	for _, object := range found {
		if o, ok := object.(Object); ok {
			here[s.name(o)] = true
			s.list(o)
		}
	}
	for _, name := range s.names() {
		if !here[name] {
			s.remove(name)
		}
	}
	return nil
}

func (s store[Object]) Resync() error { return nil }
