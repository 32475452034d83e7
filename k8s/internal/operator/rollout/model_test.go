// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/metax-ctk/container-toolkit/k8s/internal/report"
)

// world is a cluster whose nodes get a new driver, with all that can go wrong: two controllers
// that see the cluster as it was some seconds ago and end at any write, jobs that come and go,
// and nodes that fail.
type world struct {
	t      *testing.T
	random *rand.Rand
	now    time.Time
	text   string // of the policy
	policy Policy

	revision      string
	nodes         []*machine
	taken         []Take
	told          string // reason and message
	statusVersion int
	writes        int
	uids          int
	renewed       int // driver pods that were deleted for another agent
	changes       int // of Nodes

	past []seen // the last ones, with what a controller sees
}

// machine is a node of the world: what the API server says of it, and what is there.
type machine struct {
	Node
	version int
	fault   string        // what goes wrong there
	byHand  bool          // a person cordoned it
	person  time.Time     // when a person who uncordoned it does so
	loaded  string        // the version of the driver that the kernel has
	said    report.Report // by the agent, in its file
	at      time.Time     // when the agent or the DaemonSet does its next step
	labels  time.Time     // when metax-gpu-label does
	ends    map[string]time.Time
}

type seen struct {
	Snapshot
	told          string
	statusVersion int
	versions      map[string]int
}

var faults = []string{"", "", "", "", "never ready", "no pod", "a pod that stays", "a budget", "not valid", "not ready for some time", "labels late", "labels late", "no reports"}

// versions are those of the drivers of the revisions.
var versions = map[string]string{"old": "1", "new": "2", "newer": "3"}

var policies = []string{
	"{enableRollout: true}",
	"{enableRollout: true, upgradeSteps: [{replicas: 1, pauseDuration: 30000}, {replicas: 100%}]}",
	"{enableRollout: true, maxParallel: 3, maxUnavailable: 10%}",
	"{enableRollout: true, maxUnavailable: 1, podDeletion: {enable: true, timeoutSeconds: 60}}",
	"{enableRollout: true, maxUnavailable: 25%, maxFailureThreshold: 50, waitForCompletion: {timeoutSeconds: 120}, podDeletion: {enable: true, force: true, timeoutSeconds: 100}}",
	"{enableRollout: true, maxUnavailable: 50%, maxFailureThreshold: 2, waitForCompletion: {timeoutSeconds: 120}, drain: {enable: true, timeoutSeconds: 60}}",
	"{enableRollout: true, maxUnavailable: 20%, maxParallel: 5, upgradeSteps: [{replicas: 2, pauseDuration: 60000}, {replicas: 30%, pauseDuration: 60000}], podDeletion: {enable: true}, drain: {enable: true, force: true}}",
}

func newWorld(t *testing.T, seed uint64, size int) *world {
	w := &world{t: t, random: rand.New(rand.NewPCG(21, seed)), now: noon, revision: "old"}
	w.text = policies[int(seed)%len(policies)]
	var err error
	if w.policy, err = policyOf(t, w.text); err != nil {
		t.Fatal(err)
	}
	for i := range size {
		m := &machine{fault: faults[w.random.IntN(len(faults))], byHand: w.random.IntN(12) == 0, ends: map[string]time.Time{}}
		m.Driver, m.loaded = w.driver(), "1"
		m.said = report.Report{Ready: true, Version: "1", Pod: m.Driver.UID}
		m.Node = Node{Name: fmt.Sprintf("node-%02d", i), Ready: true, Unschedulable: m.byHand, Validated: true, DriverReady: true, Report: m.said, Driver: m.Driver}
		w.nodes = append(w.nodes, m)
	}
	return w
}

func (w *world) uid() string { w.uids++; return fmt.Sprint("uid-", w.uids) }

func (w *world) driver() *Driver {
	return &Driver{Pod: Pod{Namespace: "ns", Name: "driver", UID: w.uid(), Daemon: true}, Revision: w.revision, Running: true}
}

// isOut reports whether a node cannot give its GPUs to pods.
func (m *machine) isOut() bool { return m.Unschedulable || !m.Ready || !m.said.Ready }

func (w *world) out() (n int) {
	for _, m := range w.nodes {
		if m.isOut() {
			n++
		}
	}
	return n
}

// see is what a controller would see now.
func (w *world) see() seen {
	s := seen{told: w.told, statusVersion: w.statusVersion, versions: map[string]int{}}
	s.Snapshot = Snapshot{Deployed: true, Revision: w.revision, Version: versions[w.revision], Validates: true, Desired: len(w.nodes), Policy: w.policy, Taken: slices.Clone(w.taken)}
	for _, m := range w.nodes {
		n := m.Node
		n.Pods = slices.Clone(m.Pods)
		if m.Driver != nil {
			d := *m.Driver
			n.Driver = &d
		}
		s.versions[n.Name] = m.version
		s.Nodes = append(s.Nodes, n)
	}
	return s
}

// control is one look of a controller that sees what was, and that ends after so many writes;
// below 0 it does not.
func (w *world) control(s seen, ends int) {
	s.Now = w.now
	plan := Decide(s.Snapshot)
	write := func() bool {
		if ends == 0 {
			return false
		}
		ends--
		return true
	}
	if told := plan.Reason + plan.Message; told != s.told || !slices.Equal(plan.Taken, s.Taken) {
		if !write() || s.statusVersion != w.statusVersion {
			return
		}
		w.told, w.taken = told, plan.Taken
		w.statusVersion++
		w.writes++
	}
	for _, c := range plan.Changes {
		m := w.machine(c.Node)
		if !write() {
			return
		}
		if m.version == s.versions[c.Node] {
			w.change(m, c)
		}
	}
	for _, d := range plan.Remove {
		if !write() {
			return
		}
		for _, m := range w.nodes {
			if m.Driver != nil && m.Driver.UID == d.UID {
				w.writes++
				if using := m.podsUsingGPUs(); len(using) > 0 && !m.hasDriverRevision(w.revision) {
					w.t.Errorf("the driver pod of %s is deleted while pods use its GPUs: %v", m.Name, using)
				}
				if m.hasDriverRevision(w.revision) {
					w.renewed++
				}
				m.Driver = nil
				m.at = w.now.Add(time.Duration(2+w.random.IntN(6)) * time.Second)
			}
		}
	}
	for _, p := range plan.Evict {
		if !write() {
			return
		}
		for _, m := range w.nodes {
			if i := slices.IndexFunc(m.Pods, func(has Pod) bool { return has.UID == p.UID }); i >= 0 && m.fault != "a budget" {
				w.writes++
				has := &m.Pods[i]
				d := w.policy.Deletion
				if w.policy.Drain.Enabled {
					d.Enabled, d.Force = true, d.Force || w.policy.Drain.Force
				}
				if !d.Enabled || w.policy.Unavailable.Of(len(w.nodes)) == 0 || !has.Managed && !d.Force || has.Daemon {
					w.t.Errorf("%s: pod %s is evicted: %+v", w.text, has.Name, *has)
				}
				if !m.Record.isUpgrading() {
					w.t.Errorf("a pod of %s is evicted, which is not being upgraded", m.Name)
				}
				has.Ending = true
				m.ends[has.UID] = w.now.Add(3 * time.Second)
			}
		}
	}
}

func (w *world) machine(name string) *machine {
	return w.nodes[slices.IndexFunc(w.nodes, func(m *machine) bool { return m.Name == name })]
}

// change writes to a Node and checks what may be written.
func (w *world) change(m *machine, c Change) {
	wasOut, was := m.isOut(), m.Record
	m.version++
	w.writes++
	w.changes++
	m.Record = ParseRecord(c.Record.String())
	if c.Unschedulable != nil {
		m.Unschedulable = *c.Unschedulable
	}
	if m.byHand && !m.Unschedulable {
		w.t.Errorf("%s was cordoned by a person and is uncordoned", m.Name)
	}
	if most := w.policy.Unavailable.Of(len(w.nodes)); !wasOut && m.isOut() && most > 0 && w.out() > most {
		w.t.Errorf("%s: %d nodes are out of service, more than %d, after %s:\n%s", w.text, w.out(), most, m.Name, w.lines())
	}
	if m.Record.State == Done && (m.loaded != versions[m.Record.To] || !m.said.Ready) {
		w.t.Errorf("%s counts as upgraded to %s with the driver %q: %+v", m.Name, m.Record.To, m.loaded, m.said)
	}
	if !was.isUpgrading() && m.Record.State == Jobs && m.hasOutdatedDriver(w.revision) {
		w.steps(m)
	}
	active := 0
	for _, m := range w.nodes {
		if m.Record.isUpgrading() {
			active++
		}
	}
	if most := w.policy.Parallel.Of(len(w.nodes)); active > most {
		w.t.Errorf("%s: %d nodes are upgraded at once, more than %d", w.text, active, most)
	}
}

// steps checks that a node may begin: a step has no more nodes than it says until all of them
// are done.
func (w *world) steps(m *machine) {
	done, begun := 0, 0
	for _, m := range w.nodes {
		switch r := m.Record; {
		case r.State == Done && r.To == w.revision:
			done, begun = done+1, begun+1
		case r.isUpgrading() || r.State == Failed && r.To == w.revision && !m.hasOutdatedDriver(w.revision):
			begun++
		}
	}
	for _, step := range w.policy.Steps {
		if most := step.Replicas.Of(len(w.nodes)); done < most && begun > most {
			w.t.Errorf("%s: %s begins although %d nodes of a step of %d are not done", w.text, m.Name, begun-done-1, most)
			return
		}
	}
}

// tick is what the cluster itself does in a second.
func (w *world) tick(jobs bool) {
	w.now = w.now.Add(time.Second)
	for _, m := range w.nodes {
		before := m.Node
		// Jobs end, and come where they may.
		m.Pods = slices.DeleteFunc(m.Pods, func(p Pod) bool { end := m.ends[p.UID]; return !end.IsZero() && !end.After(w.now) })
		if jobs && !m.Unschedulable && m.Ready && m.DriverReady && w.random.IntN(100) == 0 && len(m.Pods) < 4 {
			p := Pod{Namespace: "jobs", Name: w.uid(), GPU: w.random.IntN(4) > 0, Managed: w.random.IntN(3) > 0}
			p.UID = p.Name
			if m.fault != "a pod that stays" {
				m.ends[p.UID] = w.now.Add(time.Duration(10+w.random.IntN(300)) * time.Second)
			}
			m.Pods = append(m.Pods, p)
		}
		// Its kubelet is away for a while after the driver pod was deleted.
		m.Ready = m.fault != "not ready for some time" || m.Driver != nil
		// A person uncordons what failed, and cordons it later for another reason.
		if m.Record.State == Failed && m.Record.Cordoned && m.person.IsZero() && w.random.IntN(200) == 0 {
			m.Unschedulable, m.person = false, w.now.Add(20*time.Second)
			m.version++
		}
		if jobs && !m.person.IsZero() && !m.Unschedulable && w.now.After(m.person) {
			m.Unschedulable, m.byHand = true, true
			m.version++
		}
		w.agent(m)
		w.label(m)
		if before.Report != m.Report || before.DriverReady != m.DriverReady || before.Ready != m.Ready || before.Validated != m.Validated {
			m.version++
		}
	}
	w.past = append(w.past, w.see())
	if len(w.past) > 4 {
		w.past = w.past[1:]
	}
}

// agent is what the DaemonSet and the agent of a node do. A new agent says nothing for a
// while.
func (w *world) agent(m *machine) {
	if w.now.Before(m.at) {
		return
	}
	later := func(seconds int) { m.at = w.now.Add(time.Duration(1+w.random.IntN(seconds)) * time.Second) }
	if m.Driver == nil {
		if m.fault != "no pod" {
			m.Driver = w.driver()
			later(60)
		}
		return
	}
	version := versions[m.Driver.Revision]
	switch {
	case m.loaded == version:
		m.said = report.Report{Ready: true, Version: version}
	case m.loaded != "" && (m.said.Ready || len(m.podsUsingGPUs()) > 0 || m.DriverReady): // until the device plugin has left
		m.said = report.Report{Reason: "Unloading", Version: m.loaded}
	case m.loaded != "":
		m.loaded, m.said = "", report.Report{Reason: "Loading"}
		later(20)
	case m.fault == "never ready":
		m.said = report.Report{Reason: "BadModule"}
	default:
		m.loaded = version
	}
	m.said.Pod = m.Driver.UID
}

// label is what metax-gpu-label of a node does: it brings to the API server what is there,
// mostly soon.
func (w *world) label(m *machine) {
	if w.now.Before(m.labels) {
		return
	}
	m.Report, m.DriverReady = m.said, m.said.Ready
	if m.fault == "no reports" {
		m.Report = report.Report{}
	}
	m.Validated = m.said.Ready && (m.fault != "not valid" || m.loaded == "1")
	if m.fault == "labels late" {
		m.labels = w.now.Add(time.Duration(w.random.IntN(200)) * time.Second)
	}
}

// run lets time pass, with two controllers of which one is mostly right.
func (w *world) run(seconds int, jobs bool) {
	at := [2]int{}
	for range seconds {
		w.tick(jobs)
		for i := range at {
			// Each sees something later than before, but perhaps not the latest.
			at[i] = max(0, max(at[i]-1, w.random.IntN(len(w.past))))
			ends := -1
			if w.random.IntN(4) == 0 {
				ends = w.random.IntN(4)
			}
			if i == 0 || w.random.IntN(3) == 0 {
				w.control(w.past[min(at[i], len(w.past)-1)], ends)
			}
		}
		if w.t.Failed() {
			w.t.FailNow()
		}
	}
}

// rest lets one controller look until it has nothing to do.
func (w *world) rest() {
	w.run(20, false)
	before := w.writes
	w.run(100, false)
	if w.writes != before {
		w.t.Errorf("%d writes although everything is as requested", w.writes-before)
	}
}

// agents has pods of another template with the same driver, while pods use GPUs. No node is
// cordoned for them.
func (w *world) agents() {
	for _, m := range w.nodes {
		m.Driver.Old = true
		m.Pods = append(m.Pods, Pod{Namespace: "jobs", Name: w.uid(), GPU: true, Managed: true})
	}
	before, changes := w.renewed, w.changes
	for range 2000 {
		w.tick(false)
		w.control(w.see(), -1)
		away := 0
		for _, m := range w.nodes {
			if m.Driver == nil {
				away++
			}
		}
		if away > w.policy.Parallel.Of(len(w.nodes)) {
			w.t.Fatalf("%s: %d agents are away", w.text, away)
		}
	}
	if n := w.renewed - before; n != len(w.nodes) || w.changes != changes {
		w.t.Errorf("%s: %d of %d agents were replaced, with %d changes of nodes: %s", w.text, n, len(w.nodes), w.changes-changes, w.told)
	}
}

func (w *world) lines() string {
	var lines []string
	for _, m := range w.nodes {
		lines = append(lines, fmt.Sprintf("%s %q %s cordoned=%t %+v %+v", m.Name, m.fault, m.Record, m.Unschedulable, m.Report, m.Pods))
	}
	return w.told + "\n" + strings.Join(lines, "\n")
}

// TestModel rolls drivers out over 50 nodes of which many fail, in any state; then it cures
// them. Never are more nodes out of service than may be, no pod is ended that was not to be,
// what a person cordoned stays so, and in the end all nodes have the driver and nothing is
// written any more.
func TestModel(t *testing.T) {
	for seed := range uint64(2 * len(policies)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, seed, 50)
			w.run(100, true)
			w.revision = "new"
			w.run(1200, true)
			if seed%2 == 0 { // another driver in the middle
				w.revision = "newer"
			}
			w.run(1000, true)
			stuck := 0
			for _, m := range w.nodes {
				if m.Record.State == Failed {
					stuck++
				}
				m.fault = ""
				for _, p := range m.Pods { // those that stay
					m.ends[p.UID] = w.now
				}
				// Nodes that a person cordoned count also, and no other could be upgraded.
				if m.byHand && w.policy.Unavailable.Of(len(w.nodes)) > 0 {
					m.byHand, m.Unschedulable = false, m.Record.Cordoned
					m.version++
				}
			}
			t.Logf("%s: %d nodes failed; %s", w.text, stuck, w.told)
			for range 2 { // what failed before anything was changed is tried again by a person
				w.run(2400, false)
				for _, m := range w.nodes {
					if m.Record.State == Failed && !m.Record.Cordoned && !m.hasDriverRevision(w.revision) {
						m.Record = Record{}
						m.version++
					}
				}
			}
			w.rest()
			w.agents()
			for _, m := range w.nodes {
				if !m.hasDriverRevision(w.revision) || m.loaded != versions[w.revision] || m.Unschedulable != m.byHand || m.Record.To == w.revision && m.Record.State != Done {
					t.Fatalf("%s is not upgraded:\n%s", m.Name, w.lines())
				}
			}
			if !strings.HasPrefix(w.told, Upgraded) || len(w.taken) > 0 {
				t.Errorf("%s, %v", w.told, w.taken)
			}
		})
	}
}
