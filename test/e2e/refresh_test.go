// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/metax-ctk/container-toolkit/test/report"
	"github.com/metax-ctk/container-toolkit/test/sandbox"
)

const (
	// A container starts at every tenth refresh.
	refreshesForStart = 10
	// comesAndGoes is the GPU that is in one truth and not in the other.
	comesAndGoes = 7
	specDir      = "/run/cdi"
	specName     = "metax-tech.com-gpu.json"
)

// TestRefresh has the spec written anew again and again, each time with another content,
// while containers start by it and a reader never meets one that is missing or half.
func TestRefresh(t *testing.T) {
	t.Parallel()
	h := newHost(t, "sid", sandbox.Hybrid)
	h.replant(t)
	h.podman(t, "5.", "runc")
	dockerd := h.docker(t, "28.", nil)
	r := &refresher{host: h, reader: newSpecReader(h.Path(specDir)), probe: append([]string{"/probe", "look"}, h.numbers(t)...)}
	r.learn(t)

	t.Run("a reader that must complain", r.complains)
	t.Run("engines take notice", r.notice)
	// Up to here docker has had a reason to complain.
	calm := r.size(t, dockerd)
	t.Run("race", func(t *testing.T) {
		r.reader.during(t, func() { r.race(t) })
	})
	t.Run("many writers", func(t *testing.T) {
		r.reader.during(t, func() { r.crowd(t) })
	})
	text, err := os.ReadFile(dockerd.Log.Name())
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text[calm:])) {
		if lower := strings.ToLower(line); strings.Contains(lower, "cdi") && strings.Contains(lower, "err") {
			t.Errorf("docker complains: %s", line)
		}
	}
}

// size is the length of the daemon's log.
func (r *refresher) size(t *testing.T, d *daemon) int64 {
	t.Helper()
	info, err := d.Log.Stat()
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// refresher makes the truth change, and the spec with it.
type refresher struct {
	*host
	reader *specReader
	probe  []string // its command line
	whole  bool     // all GPUs are there
}

// turn has one GPU come or go, and the spec follow.
func (r *refresher) turn(ctx context.Context) error {
	at := r.Path(nodeDir + r.gpus[comesAndGoes].Nodes[0])
	from, to := at, at+".away"
	if !r.whole {
		from, to = to, from
	}
	if err := os.Rename(from, to); err != nil {
		return err
	}
	r.whole = !r.whole
	return r.refresh(ctx, true)
}

// refresh writes the spec, which is another than before where the caller knows it.
func (r *refresher) refresh(ctx context.Context, must bool, options ...string) error {
	said, err := r.try(ctx, nil, append([]string{"metax-ctk", "cdi", "generate", "--force", "-o", "json"}, options...)...)
	if err != nil {
		return err
	}
	var done struct{ Changed bool }
	if said.code != 0 {
		return fmt.Errorf("cdi generate: %v", said)
	} else if err := json.Unmarshal([]byte(said.stdout), &done); err != nil {
		return fmt.Errorf("read what cdi generate says: %w", err)
	}
	if must && !done.Changed {
		return errors.New("the truth is another, and the spec was not written")
	}
	return nil
}

// learn takes down what the spec is in each truth.
func (r *refresher) learn(t *testing.T) {
	t.Helper()
	r.whole = true
	if err := r.refresh(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	one := func(name string, devices int) {
		t.Helper()
		if err := r.reader.learn(name, devices); err != nil {
			t.Fatal(err)
		}
	}
	const names = 3 // of each GPU: index, UUID, PCI address
	one("all GPUs", names*nodeGPUs+1)
	for _, truth := range []string{"one GPU less", "all GPUs"} {
		if err := r.turn(t.Context()); err != nil {
			t.Fatal(err)
		}
		if truth != "all GPUs" {
			one(truth, names*(nodeGPUs-1)+1)
		}
	}
	if err := r.refresh(t.Context(), true, "--no-groups"); err != nil {
		t.Fatal(err)
	}
	one("no groups", names*nodeGPUs+1)
	if err := r.refresh(t.Context(), true); err != nil {
		t.Fatal(err)
	}
}

// complains shows the reader what it must not overlook.
func (r *refresher) complains(t *testing.T) {
	dir := t.TempDir()
	poor := newSpecReader(dir)
	poor.truths = r.reader.truths
	path := filepath.Join(dir, specName)
	var text string
	for text = range poor.truths {
		break
	}
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want := func(what string, good bool) {
		t.Helper()
		if err := poor.look(); (err == nil) != good {
			t.Errorf("%s: %v", what, err)
		}
	}
	want("no spec", false)
	write(path, text[:len(text)/2])
	want("half a spec", false)
	write(path, "")
	want("an empty spec", false)
	write(path, strings.Replace(text, "renderD", "renderX", 1))
	want("another spec", false)
	write(path, text)
	want("a spec", true)
	write(filepath.Join(dir, "new.json"), text[:len(text)/2])
	want("half a spec of another name", false)
}

// notice asserts that both engines follow changes of the spec; otherwise the race would
// not be tested.
func (r *refresher) notice(t *testing.T) {
	name := []int{comesAndGoes}
	for _, engine := range []string{"docker", "podman"} {
		s := r.begin(t, engine, name)
		if r.finish(t.Context(), s); s.err != nil {
			t.Fatal(s.err)
		}
		r.sees(t, s.inbox.report(t), name)
	}
	if err := r.turn(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, engine := range []string{"docker", "podman"} {
		// A daemon hears of the file by inotify, so a little later.
		until(t, func() (bool, string) {
			s := r.begin(t, engine, name)
			r.finish(t.Context(), s)
			return s.err != nil && strings.Contains(s.err.Error(), "unresolvable CDI devices"),
				fmt.Sprintf("%s with a GPU that has gone: %v", engine, s.err)
		})
	}
	if err := r.turn(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// start runs a container that requests GPUs that are in every version of the spec.
type start struct {
	gpus  []int
	inbox inbox
	argv  []string
	err   error
}

func (r *refresher) begin(t *testing.T, engine string, gpus []int) *start {
	t.Helper()
	s := &start{gpus: gpus, inbox: r.inbox(t)}
	s.argv = []string{engine, "run", "--rm", "--network=none", "--volume", s.inbox.dir + ":" + report.Dir}
	if engine == "podman" {
		s.argv = append(s.argv, "--cap-add=MKNOD", "--cgroup-parent="+r.Cgroup())
	}
	for i, gpu := range gpus {
		name := "metax-tech.com/gpu=" + strconv.Itoa(gpu)
		if i%2 == 1 {
			name = r.cdiNames([]int{gpu})[0]
		}
		s.argv = append(s.argv, "--device", name)
	}
	s.argv = append(append(s.argv, imageRef), r.probe...)
	return s
}

func (r *refresher) finish(ctx context.Context, s *start) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	said, err := r.try(ctx, nil, s.argv...)
	if err == nil && said.code != 0 {
		err = fmt.Errorf("%v", said)
	}
	s.err = err
}

// starts are a number of containers, a third of them Podman's.
func (r *refresher) starts(t *testing.T, n int) []*start {
	t.Helper()
	var all []*start
	for i := range n {
		engine := "docker"
		if i%3 == 2 {
			engine = "podman"
		}
		gpus := []int{i % comesAndGoes}
		if other := i * 3 % comesAndGoes; !slices.Contains(gpus, other) {
			gpus = append(gpus, other)
		}
		all = append(all, r.begin(t, engine, gpus))
	}
	return all
}

// seen asserts of containers that have ended that each saw its GPUs and no others.
func (r *refresher) seen(t *testing.T, all []*start) {
	t.Helper()
	for i, s := range all {
		if s.err != nil {
			t.Errorf("container %d: %s: %v", i, strings.Join(s.argv, " "), s.err)
			continue
		}
		good := !t.Failed()
		slices.Sort(s.gpus)
		if r.sees(t, s.inbox.report(t), s.gpus); good && t.Failed() {
			t.Logf("that was container %d: %s", i, strings.Join(s.argv, " "))
		}
	}
}

// race starts a container at every tenth refresh, a few at a time, and goes on refreshing
// until the last of them has ended.
func (r *refresher) race(t *testing.T) {
	refreshes := 200
	if night > 0 {
		refreshes = 1000
	}
	all := r.starts(t, refreshes/refreshesForStart)
	queue := make(chan *start, len(all))
	ended := make(chan struct{})
	var starters sync.WaitGroup
	for range 3 {
		starters.Go(func() {
			for s := range queue {
				r.finish(t.Context(), s)
			}
		})
	}
	go func() {
		starters.Wait()
		close(ended)
	}()
	n := 0
	for going := true; going; n++ {
		if err := r.turn(t.Context()); err != nil {
			t.Fatal(err)
		}
		switch {
		case n < refreshes && n%refreshesForStart == 0:
			queue <- all[n/refreshesForStart]
		case n == refreshes:
			close(queue)
		case n > refreshes:
			select {
			case <-ended:
				going = false
			default:
			}
		}
	}
	if !r.whole {
		if err := r.turn(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d refreshes", n)
	r.seen(t, all)
}

// crowd is several writers at once who do not agree.
func (r *refresher) crowd(t *testing.T) {
	const writers, each = 4, 25
	all := r.starts(t, 9)
	errs := make([]error, writers)
	var crowd sync.WaitGroup
	for w := range writers {
		crowd.Go(func() {
			for i := range each {
				var options []string
				if (w+i)%2 == 0 {
					options = []string{"--no-groups"}
				}
				if errs[w] = r.refresh(t.Context(), false, options...); errs[w] != nil {
					return
				}
			}
		})
	}
	for _, s := range all {
		r.finish(t.Context(), s)
	}
	crowd.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Error(err)
	}
	r.seen(t, all)
}
