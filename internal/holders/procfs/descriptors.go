package procfs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// opened is what processes have open: what the second pass finds.
type opened struct {
	processes []usage.Process // ascending by pid
	read      []usage.Client  // of those that were asked for, all files were read
	refused   int             // processes whose files this user may not see
	err       error
}

// In the first turn this many descriptors of each process are looked at, and in
// each later turn turnGrowth times as many, from the beginning, of those processes
// that have more. So a process with a million hides none that has ten, every
// process is looked at in one go, and no directory stays open in between.
const (
	firstTurn  = 512
	turnGrowth = 64
)

// seen is what a turn finds out about a process.
type seen struct {
	gpus    []gpu.BDF
	process usage.Process
	more    bool // it has more descriptors than the turn allows
	refused bool
	whole   bool // all of it was read
}

// walk looks at the descriptors of all processes of the roster, in turns. What an
// unfinished walk has found counts, too.
func (r *round) walk(ctx context.Context, q usage.Question, list *roster) (out opened) {
	if out.err = list.err; out.err != nil && !errors.Is(out.err, usage.ErrUnfinished) {
		return out
	}
	dir, err := r.proc.openProc()
	if err != nil {
		return opened{err: err}
	}
	defer closeFD(dir)
	all := make([]seen, len(list.subjects))
	var turn []int
	for i, s := range list.subjects {
		if !s.skip {
			turn = append(turn, i)
		}
	}
	why := fmt.Sprintf(": there are %d processes", len(list.subjects))
	for most := firstTurn; len(turn) > 0; most = min(most, math.MaxInt/turnGrowth) * turnGrowth {
		err := r.crew(ctx, dir, len(turn), func(w *worker, i int) {
			w.inspect(list.subjects[turn[i]], &all[turn[i]], most)
		})
		if err != nil {
			if out.err == nil {
				out.err = unfinished(why, err)
			}
			break
		}
		turn = slices.DeleteFunc(turn, func(i int) bool { return !all[i].more })
		if len(turn) > 0 {
			s := list.subjects[turn[0]]
			why = fmt.Sprintf(": process %d (%s) has over %d files open", s.pid, s.command, most)
		}
	}
	for i, s := range all {
		if s.refused {
			out.refused++
		}
		if c, ok := r.recorded(q.Recorded, &list.subjects[i], dir); ok && s.whole {
			out.read = append(out.read, c)
		}
		if len(s.gpus) > 0 {
			out.processes = append(out.processes, s.process)
		}
	}
	return out
}

// recorded returns the client of a process that is on record, by its pid and start time.
func (r *round) recorded(all []usage.Client, s *subject, dir int) (usage.Client, bool) {
	if !slices.ContainsFunc(all, func(c usage.Client) bool { return c.PID == s.pid }) {
		return usage.Client{}, false
	}
	w := &worker{round: r, dir: dir}
	c, ok := w.client(s)
	return c, ok && slices.Contains(all, c)
}

// inspect looks at most descriptors of a process. That it ends meanwhile is nothing
// to tell of.
func (w *worker) inspect(s subject, found *seen, most int) {
	t := tally{worker: w, left: most}
	err := t.files(s.name)
	if t.left == most {
		err = t.threads(s.name, err)
	}
	found.more, found.refused = t.left <= 0, refused(err)
	found.whole = err == nil && !found.more && w.ctx.Err() == nil
	if t.gpus = append(t.gpus, found.gpus...); len(t.gpus) > 0 {
		found.gpus = usage.Sorted(t.gpus)
		found.process = w.process(s, found.gpus)
	}
}

// process puts together what people want to know of a process with GPUs.
func (w *worker) process(s subject, gpus []gpu.BDF) usage.Process {
	p := usage.Process{PID: s.pid, Command: s.command, GPUs: gpus}
	if client, ok := w.client(&s); ok {
		p.Start, p.PIDNamespace = client.Start, client.PIDNamespace
	}
	if status, ok := w.status(s.name); ok {
		p.UID = status.uid
	}
	if text, err := readAt(w.dir, s.name+"/cgroup", w.text[:]); err == nil {
		p.Container = parseCgroup(string(text))
	}
	return p
}

// tally counts the descriptors of a process down, and collects their GPUs.
type tally struct {
	*worker
	left int
	gpus []gpu.BDF
}

// threads looks at the files of the threads of a process that itself shows none,
// given why. The threads of a process share their files; only where the first of
// them ends and others go on, the files have to be looked for there. A kernel
// thread has none, and refuses nothing that could be seen.
func (t *tally) threads(name string, why error) error {
	s, ok := t.stat(name)
	switch {
	case !ok || s.flags&kernelThread != 0:
		return nil
	case !s.ended() && s.flags&exiting == 0:
		return why
	case s.threads < 2:
		return nil
	}
	dir, err := openAt(t.dir, name+"/task", unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	defer closeFD(dir)
	var threads []string
	if err := eachName(dir, t.names[:], func(thread string) bool {
		threads = append(threads, thread)
		return true
	}); err != nil {
		return err
	}
	var errs []error
	for _, thread := range threads {
		if t.left > 0 {
			errs = append(errs, t.files(name+"/task/"+thread))
		}
	}
	return errors.Join(errs...)
}

// files looks at the descriptors of a process or thread, whose directory is at.
func (t *tally) files(at string) error {
	dir, err := openAt(t.dir, at+"/fd", unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	defer closeFD(dir)
	var denied error
	err = eachName(dir, t.names[:], func(name string) bool {
		if t.left--; t.left%firstTurn == 0 {
			t.progress.Add(1)
		}
		n, err := unix.Readlinkat(dir, name, t.link[:])
		if err != nil {
			// Root without the right to trace sees the names, but not more.
			if refused(err) {
				denied = err
			}
			return denied == nil
		}
		if gpus := t.meant(dir, name, t.link[:n]); len(gpus) > 0 && !t.pathOnly(at, name) {
			t.gpus = append(t.gpus, gpus...)
		}
		return t.left > 0 && t.ctx.Err() == nil
	})
	if denied != nil {
		return denied
	}
	return err
}

// pathOnly reports whether a descriptor was opened with O_PATH: that takes no right
// on the node, and gives none, so it is no use of a GPU. One whose flags cannot be
// read is taken for a use.
func (t *tally) pathOnly(at, name string) bool {
	text, err := readAt(t.dir, at+"/fdinfo/"+name, t.text[:])
	if err != nil {
		return false
	}
	for line := range bytes.Lines(text) {
		if value, ok := bytes.CutPrefix(line, []byte("flags:")); ok {
			flags, err := strconv.ParseUint(string(bytes.TrimSpace(value)), 8, 64)
			return err == nil && flags&unix.O_PATH != 0
		}
	}
	return false
}

// meant returns the GPUs that an open file means, told by its device number, or
// on a simulated node by its path. Files outside of /dev are skipped: asking
// for one on a network that hangs would hang us.
func (t *tally) meant(dir int, name string, link []byte) []gpu.BDF {
	if t.devices.Real() {
		// Daemons have /dev/null open three times.
		if !bytes.HasPrefix(link, []byte("/dev/")) || string(link) == "/dev/null" {
			return nil
		}
		if st, ok := describe(dir, name); ok && st.Mode&unix.S_IFMT == unix.S_IFCHR {
			if bdf, ok := t.devices.Number(number(st)); ok {
				return []gpu.BDF{bdf}
			}
		}
		return nil
	}
	if !bytes.Contains(link, []byte("/dev/")) {
		return nil
	}
	found := t.devices.Path(string(bytes.TrimSuffix(link, []byte(" (deleted)"))))
	if len(found) == 0 {
		return nil
	}
	// A directory means all that is below it, but who has it open uses none of it.
	if st, ok := describe(dir, name); !ok || st.Mode&unix.S_IFMT == unix.S_IFDIR {
		return nil
	}
	return found
}
