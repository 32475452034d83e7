package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/assign"
	"github.com/metax-ctk/container-toolkit/internal/holders"
	"github.com/metax-ctk/container-toolkit/internal/holders/procfs"
	"github.com/metax-ctk/container-toolkit/internal/lease"
	"github.com/metax-ctk/container-toolkit/internal/ps"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// dockers is the namespace of docker's containers, of which docker tells more.
const dockers = "moby"

// containerd are the sources for containerd without its client, which takes
// longer to start than all that this program does. The directories of its tasks
// say whether there is one that nobody knows yet; only then metax-ctk is asked.
func (w *wrapper) containerd(proc *procfs.Proc, _ holders.Devices, s lease.State) []lease.Source {
	running, err := w.tasks(proc)
	var sources []lease.Source
	for _, address := range assign.ContainerdAddresses(s, running, cmp.Or(w.address, assign.Containerd("", w.Getenv))) {
		own := slices.DeleteFunc(slices.Clone(running), func(t procfs.Task) bool {
			return t.Namespace == dockers || t.Address != address && assign.Resolve(t.Address) != address
		})
		sources = append(sources, tasks{address, own, err, w.askToolkit})
	}
	return sources
}

// listed is what containerd's directories told.
type listed struct {
	tasks []procfs.Task
	err   error
}

// listAhead has the tasks listed while the node is read, since both take some
// milliseconds. What starts meanwhile is seen no later than what starts just after
// a look.
func (w *wrapper) listAhead() {
	ahead := make(chan listed, 1)
	w.ahead = ahead
	go func() {
		tasks, err := assign.Proc().Tasks()
		ahead <- listed{tasks, err}
	}()
}

// tasks lists what runs: the first time what was listed ahead.
func (w *wrapper) tasks(proc *procfs.Proc) ([]procfs.Task, error) {
	if ahead := w.ahead; ahead != nil {
		w.ahead = nil
		l := <-ahead
		return l.tasks, l.err
	}
	return proc.Tasks()
}

// tasks is one containerd.
type tasks struct {
	address string
	running []procfs.Task
	err     error
	ask     func(ctx context.Context, address string) (ps.Occupancy, error)
}

func (t tasks) Name() (engine, endpoint string) { return "containerd", t.address }

// Look returns the running containers. What metax-ctk does not tell of one has
// no GPU of ours.
func (t tasks) Look(ctx context.Context, q usage.Question) (usage.Sight, error) {
	if len(t.running) == 0 {
		return usage.Sight{Partial: t.err != nil}, t.err
	}
	var told *ps.Occupancy
	var sight usage.Sight
	for _, task := range t.running {
		c := usage.Container{Engine: "containerd", Namespace: task.Namespace, ID: task.ID, State: usage.Running}
		facts, known := q.Seen[c.Key()]
		known = known && len(c.ID) == 64 // a name may be another container's by now
		if !known && told == nil {
			answer, err := t.ask(ctx, t.address)
			if err != nil {
				sight.Partial = true
				return sight, fmt.Errorf("ask metax-ctk for containers that are new: %w", err)
			}
			told = &answer
		}
		if !known {
			facts = told.Facts(c.Key())
		}
		c.Facts = facts
		sight.Containers = append(sight.Containers, c)
	}
	if t.err != nil {
		sight.Partial = true
	}
	return sight, t.err
}

// askToolkit runs metax-ctk, which links containerd's client, for what the
// containerd at the address knows.
func (w *wrapper) askToolkit(ctx context.Context, address string) (told ps.Occupancy, err error) {
	path, err := toolkit()
	if err != nil {
		return told, err
	}
	text, err := w.output(ctx, path, "--root", w.settings.Root.Text, "ps", "--source", "containerd", "-o", "json")
	if err != nil {
		return told, err
	}
	if err := json.Unmarshal([]byte(text), &told); err != nil {
		return told, fmt.Errorf("read the answer of %s: %w", path, err)
	}
	for _, s := range told.Sources {
		switch {
		case s.Endpoint != address:
		case s.Status == ps.OK:
			return told, nil
		default: // an absent one whose tasks go on is not one without tasks
			return told, fmt.Errorf("containerd at %s: %s: %s", address, s.Status, s.Message)
		}
	}
	return told, fmt.Errorf("metax-ctk knows no containerd at %s", address)
}

// toolkit is the metax-ctk that was installed with this program.
func toolkit() (string, error) {
	if self, err := os.Readlink("/proc/self/exe"); err == nil {
		beside := filepath.Join(filepath.Dir(self), "metax-ctk")
		if _, err := os.Stat(beside); err == nil {
			return beside, nil
		}
	}
	path, err := exec.LookPath("metax-ctk")
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		return "", errors.New("metax-ctk is not installed beside metax-docker")
	}
	return path, err
}
