// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"io/fs"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// row is a Holder for comparing.
type row struct {
	GPUs    []gpu.BDF
	Who     string
	State   string
	Sources []string
}

func rows(holders []usage.Holder) []row {
	var out []row
	for _, h := range holders {
		out = append(out, row{h.GPUs, h.String(), h.State(), h.Sources()})
	}
	return out
}

func procs(list ...usage.Process) Look {
	return Look{Engine: usage.Processes, Sight: usage.Sight{Processes: list}}
}

func TestHolders(t *testing.T) {
	mine := "lease aaaaaaaaaaaa, of ann"
	job := "container job (docker)"
	python := usage.Process{PID: 9, Command: "python3", GPUs: gpus(2)}
	inside := usage.Process{PID: 11, Command: "train", Container: boxA, GPUs: gpus(0, 1)}
	exporter := labeled(usage.Running, unlabeled, func(c *usage.Container) { c.Name, c.Image = "x", "reg.example:5000/metax/mx-exporter:1@sha256:0" })
	privileged := labeled(usage.Running, unlabeled, on(), func(c *usage.Container) { c.Privileged = true })
	// containerd's own client gives its containers names for IDs, which no cgroup
	// tells from others; of their processes the first is known.
	ctr := func(change ...func(*usage.Container)) usage.Container {
		return labeled(usage.Running, append(change, unlabeled, named("train"), func(c *usage.Container) {
			c.Engine, c.Namespace, c.Init = "containerd", "default", 9
		})...)
	}
	inPod := labeled(usage.Running, unlabeled, func(c *usage.Container) { c.Engine, c.Namespace, c.Name = "containerd", "k8s.io", "team/train/main" })
	inCRIO := labeled(usage.Running, unlabeled, func(c *usage.Container) { c.Engine, c.Name = "cri-o", "k8s_main_train_team_0f3a_0" })
	eval := podContainer(1)
	eval.ID, eval.Name = "team/eval/main", "team/eval/main"
	seen := func(held bool, c usage.Container) map[string]Known {
		return map[string]Known{boxA: {c.Facts, "docker", sock, held}}
	}
	for name, c := range map[string]struct {
		leases []usage.Lease
		seen   map[string]Known
		looks  []Look
		want   []row
	}{
		"nobody":          {looks: []Look{dockerSees()}},
		"a pending lease": {leases: []usage.Lease{lease()}, want: []row{{gpus(0), mine, "pending", []string{"lease"}}}},
		"an expiring lease": {
			leases: []usage.Lease{lease(goneAt(1), func(l *usage.Lease) { l.User = nil })},
			want:   []row{{gpus(0), "lease aaaaaaaaaaaa", "expiring", []string{"lease"}}},
		},
		"a bound lease": {
			leases: []usage.Lease{lease(bound)}, looks: []Look{dockerSees(labeled(usage.Paused))},
			want: []row{{gpus(0), job + ", " + mine, "paused", []string{"lease", "container"}}},
		},
		"all three": {
			leases: []usage.Lease{lease(bound)}, looks: []Look{dockerSees(labeled(usage.Running)), procs(inside)},
			want: []row{{gpus(0, 1), job + ", " + mine, "running", []string{"lease", "container", "process"}}},
		},
		"a lease whose engine does not answer": {
			leases: []usage.Lease{lease(bound)}, seen: seen(true, labeled(usage.Running)), looks: []Look{dockerLate, procs(inside)},
			want: []row{{gpus(0, 1), "container aaaaaaaaaaaa, " + mine, "unknown", []string{"lease", "process"}}},
		},
		"a lease of an engine that this user may not ask": {
			leases: []usage.Lease{lease()}, looks: []Look{{Engine: "docker", Endpoint: sock, Err: fs.ErrPermission, Sight: usage.Sight{Partial: true}}},
			want: []row{{gpus(0), mine, "unknown", []string{"lease"}}},
		},
		"a lease, and another engine that does not answer": {
			leases: []usage.Lease{lease()}, looks: []Look{dockerSees(), containerdLate},
			want: []row{{gpus(0), mine, "pending", []string{"lease"}}},
		},
		"a start on its way": {
			leases: []usage.Lease{lease(starting)}, looks: []Look{dockerSees(labeled(usage.Exited))},
			want: []row{{gpus(0), job + ", " + mine, "pending", []string{"lease", "container"}}},
		},
		"a lease and somebody else's container with its label": {
			leases: []usage.Lease{lease()}, looks: []Look{dockerSees(labeled(usage.Running, on(gpus(1)...)))},
			want: []row{{gpus(0), mine, "pending", []string{"lease"}}, {gpus(1), job, "running", []string{"container"}}},
		},
		"a container":                           {looks: []Look{dockerSees(labeled(usage.Running, unlabeled))}, want: []row{{gpus(0), job, "running", []string{"container"}}}},
		"a container that nobody started yet":   {looks: []Look{dockerSees(labeled(usage.Created, unlabeled))}, want: []row{{gpus(0), job + " that has not been started", "created", []string{"container"}}}},
		"a container that comes back":           {looks: []Look{dockerSees(labeled(usage.Exited, keeps))}, want: []row{{gpus(0), job, "exited", []string{"container"}}}},
		"a container with a dead lease's label": {looks: []Look{dockerSees(labeled(usage.Running))}, want: []row{{gpus(0), job, "running", []string{"container"}}}},
		"a container that nobody will start":    {looks: []Look{dockerSees(labeled(usage.Created))}},
		"a created container with a label of no lease's form": {
			looks: []Look{dockerSees(labeled(usage.Created, func(c *usage.Container) { c.Lease = "mine" }))},
			want:  []row{{gpus(0), job + " that has not been started", "created", []string{"container"}}},
		},
		"a created container with a live lease's label": {
			leases: []usage.Lease{lease(func(l *usage.Lease) { l.GPUs = gpus(3) })}, looks: []Look{dockerSees(labeled(usage.Created))},
			want: []row{{gpus(0), job + " that has not been started", "created", []string{"container"}}, {gpus(3), mine, "pending", []string{"lease"}}},
		},
		"a container that has exited": {looks: []Look{dockerSees(labeled(usage.Exited))}},
		"a container without GPUs":    {looks: []Look{dockerSees(labeled(usage.Running, on()))}},
		"a privileged container":      {looks: []Look{dockerSees(privileged)}},
		"a privileged container at work": {
			looks: []Look{dockerSees(privileged), procs(inside)},
			want:  []row{{gpus(0, 1), job, "running", []string{"container", "process"}}},
		},
		"processes, by PID": {
			looks: []Look{procs(usage.Process{PID: 12, Command: "a.out", GPUs: gpus(2)}, python)},
			want:  []row{{gpus(2), "process 9 (python3)", "open", []string{"process"}}, {gpus(2), "process 12 (a.out)", "open", []string{"process"}}},
		},
		"two processes of a container that nobody knows": {
			looks: []Look{procs(inside, usage.Process{PID: 12, Command: "b", Container: boxA, GPUs: gpus(3)})},
			want:  []row{{gpus(0, 1, 3), "process 11 (train)", "open", []string{"process"}}},
		},
		"the first process of a container by name": {
			looks: []Look{containerdSees(ctr()), procs(python, usage.Process{PID: 10, Command: "sh", GPUs: gpus(3)})},
			want:  []row{{gpus(0, 2), "container job (containerd)", "running", []string{"container", "process"}}, {gpus(3), "process 10 (sh)", "open", []string{"process"}}},
		},
		"the first process of an ignored container by name": {
			looks: []Look{containerdSees(ctr(func(c *usage.Container) { c.Name = "mx-exporter" })), procs(python)},
		},
		"a process in another container than the first of its number": {
			looks: []Look{containerdSees(ctr()), procs(usage.Process{PID: 9, Command: "b", Container: boxB, GPUs: gpus(3)})},
			want:  []row{{gpus(0), "container job (containerd)", "running", []string{"container"}}, {gpus(3), "process 9 (b)", "open", []string{"process"}}},
		},
		"an ignored program":   {looks: []Look{procs(usage.Process{PID: 1, Command: "mx-smi", GPUs: gpus(0, 1, 2, 3)})}},
		"an ignored image":     {looks: []Look{dockerSees(exporter)}},
		"an ignored container": {looks: []Look{dockerSees(labeled(usage.Running, unlabeled, func(c *usage.Container) { c.Name = "mx-exporter" }))}},
		"a process in an ignored image, though it is not its command": {looks: []Look{dockerSees(exporter), procs(inside)}},
		"the same while docker does not answer": {
			seen: seen(true, exporter), looks: []Look{dockerLate, procs(inside)},
		},
		"a lease of an ignored container": {
			leases: []usage.Lease{lease(bound)}, looks: []Look{dockerSees(labeled(usage.Running, func(c *usage.Container) { c.Name = "mx-exporter" }))},
			want: []row{{gpus(0), "container mx-exporter (docker), " + mine, "running", []string{"lease", "container"}}},
		},
		"stale": {
			seen: seen(true, labeled(usage.Running)), looks: []Look{dockerLate, procs(inside)},
			want: []row{{gpus(0, 1), "container job (docker)", "unknown", []string{"container", "process"}}},
		},
		"a pod": {
			looks: []Look{containerdSees(inPod), kubeletSees(podContainer(0, 1)), procs(inside)},
			want:  []row{{gpus(0, 1), "container team/train/main (kubernetes)", "running", []string{"container", "process"}}},
		},
		"a pod of CRI-O": {
			looks: []Look{{Engine: "cri-o", Sight: usage.Sight{Containers: []usage.Container{inCRIO}}}, kubeletSees(podContainer(0, 1)), procs(inside)},
			want:  []row{{gpus(0, 1), "container team/train/main (kubernetes)", "running", []string{"container", "process"}}},
		},
		"an init container, which the kubelet does not list": {
			looks: []Look{containerdSees(inPod), kubeletSees()},
			want:  []row{{gpus(0), "container team/train/main (containerd)", "running", []string{"container"}}},
		},
		"a lease of a pod": {
			leases: []usage.Lease{podLease(0, 0, 1)}, looks: []Look{kubeletSees(podContainer(0, 1))},
			want: []row{{gpus(0, 1), "container team/train/main (kubernetes), lease " + podLease(0, 0, 1).ID, "running", []string{"lease", "container"}}},
		},
		"a lease of a pod that shares a GPU with a pod whose name is first": {
			leases: []usage.Lease{ofPod("team/train/main", podLease(0, 0, 1))}, looks: []Look{kubeletSees(podContainer(0, 1), eval)},
			want: []row{
				{gpus(0, 1), "container team/train/main (kubernetes), lease " + podLease(0, 0, 1).ID, "running", []string{"lease", "container"}},
				{gpus(1), "container team/eval/main (kubernetes)", "running", []string{"container"}},
			},
		},
		"a lease of a pod that is not listed yet": {
			leases: []usage.Lease{podLease(0, 0, 1)}, looks: []Look{kubeletSees()},
			want: []row{{gpus(0, 1), "lease " + podLease(0, 0, 1).ID, "pending", []string{"lease"}}},
		},
		"a pod while the kubelet does not answer": {
			seen: map[string]Known{"kubernetes//team/train/main": {podContainer(0, 1).Facts, usage.Kubernetes, "", true}}, looks: []Look{kubeletLate},
			want: []row{{gpus(0, 1), "container team/train/main (kubernetes)", "unknown", []string{"container"}}},
		},
		"a pod while the kubelet does not answer, and the lease of a pod with a similar name": {
			seen:   map[string]Known{"kubernetes//a-team/train/main": {podContainer(2).Facts, usage.Kubernetes, "", true}},
			leases: []usage.Lease{ofPod("team/train/main", podLease(0, 0, 1))}, looks: []Look{kubeletLate},
			want: []row{
				{gpus(0, 1), "container team/train/main, lease " + podLease(0, 0, 1).ID, "unknown", []string{"lease"}},
				{gpus(2), "container team/train/main (kubernetes)", "unknown", []string{"container"}},
			},
		},
		"stale, and had not held":         {seen: seen(false, labeled(usage.Exited)), looks: []Look{dockerLate}},
		"gone, though podman is absent":   {seen: seen(true, labeled(usage.Running)), looks: []Look{dockerSees(), noPodman}},
		"gone, though not all is visible": {seen: seen(true, labeled(usage.Running)), looks: []Look{dockerSees(), someProcs}},
	} {
		s := stateOf(c.leases...)
		s.Seen = c.seen
		got := rows(s.holdersIn(&observed{looks: c.looks}, []string{"mx-smi", "mx-exporter"}))
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestImage(t *testing.T) {
	for ref, want := range map[string]string{
		"": "", "a": "a", "a:1": "a", "a/b": "b", "h:5000/a/b": "b", "h:5000/a/b:1": "b", "a@sha256:0": "a", "h/a:1@sha256:0": "a",
	} {
		if got := image(ref); got != want {
			t.Errorf("%q is %q, want %q", ref, got, want)
		}
	}
}
