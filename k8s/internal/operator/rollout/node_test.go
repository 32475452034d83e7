// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/metax-ctk/container-toolkit/k8s/internal/report"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func driverPod(revision string) *Driver {
	return &Driver{Pod: Pod{Namespace: "ns", Name: "driver-" + revision, UID: revision, Daemon: true}, Revision: revision, Running: true}
}

func gpuPods(n int, change func(*Pod)) (pods []Pod) {
	for i := range n {
		p := Pod{Namespace: "a", Name: fmt.Sprint("job-", i), UID: fmt.Sprint("job-", i), GPU: true, Managed: true}
		if change != nil {
			change(&p)
		}
		pods = append(pods, p)
	}
	return pods
}

// TestNode has a node that is being upgraded from revision "old" to "new", and what happens to
// it.
func TestNode(t *testing.T) {
	const busy = "{maxUnavailable: 1, enableRollout: true"
	ready := report.Report{Ready: true, Version: "2", Pod: "new"}
	at := func(state State, ago time.Duration) Record {
		return Record{State: state, Since: noon.Add(-ago), To: "new", Cordoned: true}
	}
	for _, test := range []struct {
		what, policy string
		node         Node
		// want is the state, "uncordon", and "evict NAME" or "delete NAME"; why is part of
		// what it waits for or why it failed.
		want, why string
	}{
		{"just cordoned", busy + "}", Node{Record: at(Jobs, settle-time.Second), Driver: driverPod("old")}, "wait-for-jobs", "just cordoned"},
		{"idle", busy + "}", Node{Record: at(Jobs, settle), Driver: driverPod("old")}, "pod-restart", ""},
		{"idle, drain", busy + ", drain: {enable: true}}", Node{Record: at(Jobs, settle), Driver: driverPod("old")}, "drain", ""},
		{"in use, nothing ends pods", busy + "}", Node{Record: at(Jobs, 99*time.Hour), Driver: driverPod("old"), Pods: gpuPods(2, nil)}, "wait-for-jobs", "GPUs are used by a/job-0, a/job-1"},
		{"in use, a limit, not yet", busy + ", waitForCompletion: {timeoutSeconds: 60}}", Node{Record: at(Jobs, 59*time.Second), Driver: driverPod("old"), Pods: gpuPods(1, nil)}, "wait-for-jobs", "a/job-0"},
		{"in use, a limit", busy + ", waitForCompletion: {timeoutSeconds: 60}}", Node{Record: at(Jobs, time.Minute), Driver: driverPod("old"), Pods: gpuPods(1, nil)}, "failed uncordon", "after 1m0s, GPUs are used by a/job-0"},
		{"in use, deletion at once", busy + ", podDeletion: {enable: true}}", Node{Record: at(Jobs, settle), Driver: driverPod("old"), Pods: gpuPods(1, nil)}, "pod-deletion", ""},
		{"in use, deletion later", busy + ", podDeletion: {enable: true}, waitForCompletion: {timeoutSeconds: 60}}", Node{Record: at(Jobs, settle), Driver: driverPod("old"), Pods: gpuPods(1, nil)}, "wait-for-jobs", "a/job-0"},
		{"in use, drain", busy + ", drain: {enable: true}, waitForCompletion: {timeoutSeconds: 60}}", Node{Record: at(Jobs, time.Minute), Driver: driverPod("old"), Pods: gpuPods(1, nil)}, "drain", ""},
		{"a pod came before the cordon", "{enableRollout: true}", Node{Record: at(Jobs, 0), Driver: driverPod("old"), Pods: gpuPods(1, nil)}, "released uncordon", ""},
		{"0% since now", "{enableRollout: true, podDeletion: {enable: true}}", Node{Record: at(Deletion, 0), Driver: driverPod("old"), Pods: gpuPods(1, nil)}, "released uncordon", ""},

		{"pods are evicted", busy + ", podDeletion: {enable: true}}", Node{Record: at(Deletion, 99*time.Hour), Pods: gpuPods(2, nil)}, "pod-deletion evict job-0 evict job-1", "pods are to end: a/job-0, a/job-1"},
		{"a pod is ending", busy + ", podDeletion: {enable: true}}", Node{Record: at(Deletion, 0), Pods: gpuPods(1, func(p *Pod) { p.Ending = true })}, "pod-deletion", "a/job-0"},
		{"a pod that nobody creates again", busy + ", podDeletion: {enable: true}}", Node{Record: at(Deletion, 0), Pods: gpuPods(1, func(p *Pod) { p.Managed = false })}, "pod-deletion", "a/job-0 (not evicted: no controller"},
		{"the same by force", busy + ", podDeletion: {enable: true, force: true}}", Node{Record: at(Deletion, 0), Pods: gpuPods(1, func(p *Pod) { p.Managed = false })}, "pod-deletion evict job-0", "a/job-0"},
		{"a pod that comes back", busy + ", podDeletion: {enable: true, force: true}}", Node{Record: at(Deletion, 0), Pods: gpuPods(1, func(p *Pod) { p.Managed, p.Daemon = false, true })}, "pod-deletion", "a/job-0 (not evicted: it would come back)"},
		{"pods without GPUs stay", busy + ", podDeletion: {enable: true}}", Node{Record: at(Deletion, 0), Driver: driverPod("old"), Pods: gpuPods(1, func(p *Pod) { p.GPU = false })}, "pod-restart", ""},
		{"deletion takes too long", busy + ", podDeletion: {enable: true, timeoutSeconds: 9}}", Node{Record: at(Deletion, 9*time.Second), Pods: gpuPods(1, nil)}, "failed uncordon", "pods did not end within 9s: a/job-0"},
		{"then drain", busy + ", podDeletion: {enable: true, timeoutSeconds: 9}, drain: {enable: true}}", Node{Record: at(Deletion, 9*time.Second), Pods: gpuPods(1, nil)}, "drain", ""},
		{"deletion is done, drain", busy + ", podDeletion: {enable: true}, drain: {enable: true}}", Node{Record: at(Deletion, 0)}, "drain", ""},
		{"deletion is switched off", busy + "}", Node{Record: at(Deletion, 0), Pods: gpuPods(1, nil)}, "wait-for-jobs", ""},
		{"drain", busy + ", drain: {enable: true}}", Node{Record: at(Drain, 0), Pods: gpuPods(1, func(p *Pod) { p.GPU = false })}, "drain evict job-0", "a/job-0"},
		{"drain leaves what belongs to the node", busy + ", drain: {enable: true}}", Node{Record: at(Drain, 0), Driver: driverPod("old"), Pods: gpuPods(1, func(p *Pod) { p.GPU, p.Managed, p.Daemon = false, false, true })}, "pod-restart", ""},
		{"drain takes too long", busy + ", drain: {enable: true, timeoutSeconds: 1}}", Node{Record: at(Drain, time.Second), Pods: gpuPods(1, nil)}, "failed uncordon", "pods did not end within 1s"},

		{"the old pod is deleted", busy + "}", Node{Record: at(Restart, 0), Driver: driverPod("old")}, "pod-restart delete driver-old", "its driver pod is to end"},
		{"a GPU is used again", busy + "}", Node{Record: at(Restart, 0), Driver: driverPod("old"), Pods: gpuPods(1, nil)}, "wait-for-jobs", ""},
		{"there is no pod", busy + "}", Node{Record: at(Restart, 0)}, "pod-restart", "a new driver pod is to run"},
		{"there is no pod for long", busy + "}", Node{Record: at(Restart, patience)}, "failed", "no new driver pod that runs within 15m"},
		{"the new pod", busy + "}", Node{Record: at(Restart, 0), Driver: driverPod("new")}, "validation", ""},
		{"the new driver loads", busy + "}", Node{Record: at(Validation, time.Minute), Driver: driverPod("new"), Validated: true, Report: report.Report{Pod: "new", Reason: "Loading", Message: "x"}}, "validation", "Loading: x"},
		{"a new pod that does not run yet", busy + "}", Node{Record: at(Restart, 0), Driver: &Driver{Revision: "new"}}, "pod-restart", "a new driver pod is to run"},
		{"the old driver stays", busy + "}", Node{Record: at(Validation, time.Minute), Driver: driverPod("new"), Validated: true, Report: report.Report{Pod: "new", Ready: true, Reason: "NoModule", Message: "x"}}, "validation", "NoModule: x"},
		{"not validated", busy + "}", Node{Record: at(Validation, time.Minute), Driver: driverPod("new"), Report: ready}, "validation", "cannot give its GPUs"},
		{"the report of the old pod", busy + "}", Node{Record: at(Validation, time.Hour/5), Driver: driverPod("new"), Validated: true, Report: report.Report{Ready: true, Version: "1", Pod: "old"}}, "validation", "has not reported yet"},
		{"ready", busy + "}", Node{Record: at(Validation, 0), Driver: driverPod("new"), Validated: true, Report: ready}, "done uncordon", ""},
		{"a driver of the host", busy + "}", Node{Record: at(Validation, settle), Driver: driverPod("new"), Validated: true, Report: report.Report{Pod: "new", Ready: true, Reason: "Host", Version: "1"}}, "done uncordon", ""},
		{"cordoned by a person", busy + "}", Node{Record: Record{State: Validation, Since: noon.Add(-settle), To: "new"}, Unschedulable: true, Driver: driverPod("new"), Validated: true, Report: ready}, "done", ""},
		{"does not get ready", busy + "}", Node{Record: at(Validation, patience), Driver: driverPod("new"), Report: report.Report{Pod: "new", Reason: "BadModule", Message: "y"}}, "failed", "BadModule: y"},
		{"an older pod again", busy + "}", Node{Record: at(Validation, 0), Driver: driverPod("old")}, "pod-restart", ""},
		{"a failed one recovers", busy + "}", Node{Record: at(Failed, time.Hour), Driver: driverPod("new"), Validated: true, Report: ready}, "done uncordon", ""},
		{"a failed one stays", busy + "}", Node{Record: at(Failed, time.Hour), Driver: driverPod("new"), Validated: true}, "failed", ""},

		{"another driver is requested", busy + "}", Node{Record: Record{State: Drain, To: "older", Since: noon, Cordoned: true}, Driver: driverPod("old")}, "wait-for-jobs", ""},
		{"back to the driver that it has", busy + "}", Node{Record: Record{State: Jobs, To: "older", Since: noon, Cordoned: true}, Driver: driverPod("new")}, "pod-restart", ""},
	} {
		t.Run(test.what, func(t *testing.T) {
			policy, err := policyOf(t, test.policy)
			if err != nil {
				t.Fatal(err)
			}
			n := test.node
			n.Name, n.Ready = "n", true
			n.Unschedulable = n.Unschedulable || n.Record.Cordoned
			s := Snapshot{Deployed: true, Revision: "new", Version: "2", Validates: true, Policy: policy, Nodes: []Node{n}, Now: noon}
			out := s.nextStep(n)
			got := string(out.record.State)
			if out.cordon != nil && !*out.cordon {
				got += " uncordon"
			}
			for _, p := range out.evict {
				got += " evict " + p.Name
			}
			if out.remove != nil {
				got += " delete " + out.remove.Name
			}
			if why := out.why + out.record.Why; got != test.want || !strings.Contains(why, test.why) || test.why == "" && why != "" {
				t.Errorf("got %q because of %q, want %q because of %q", got, why, test.want, test.why)
			}
			changed := out.record.String() != n.Record.String()
			if changed && out.record.State != "" && !out.record.Since.Equal(noon) && n.Record.State != out.record.State {
				t.Errorf("it is in the new state since %s", out.record.Since)
			}
			if out.record.State == Jobs || out.record.State == Restart || out.record.State == Failed && out.cordon == nil {
				if !out.record.Cordoned {
					t.Error("it forgets that it cordoned the node")
				}
			}
		})
	}
}

// TestHostDriverInstead: a failed node that got a driver of its host, and so has no driver pod
// any more, is put back into service. Without a driver that works it stays.
func TestHostDriverInstead(t *testing.T) {
	for _, works := range []bool{true, false} {
		n := Node{Name: "n", Ready: true, Unschedulable: true, HostDriver: true, DriverReady: works, Record: Record{State: Failed, Since: noon, To: "new", Cordoned: true}}
		p := Decide(Snapshot{Deployed: true, Revision: "new", Nodes: []Node{n}, Now: noon})
		released := len(p.Changes) == 1 && p.Changes[0].Record == (Record{}) && p.Changes[0].Unschedulable != nil && !*p.Changes[0].Unschedulable
		if released != works {
			t.Errorf("the driver works: %t, changes %+v", works, p.Changes)
		}
	}
}

// TestLongReason: what to do is still in a record that is read again, however long the reason
// is.
func TestLongReason(t *testing.T) {
	out := giveUp(Node{Name: "node-a"}, noon, strings.Repeat("pod team/job, ", 100))
	if got := ParseRecord(out.record.String()).Why; !strings.HasSuffix(got, "kubectl annotate node node-a "+Annotation+"-") {
		t.Errorf("%s", got)
	}
}
