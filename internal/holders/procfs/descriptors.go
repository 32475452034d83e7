// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/holders"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// openDevices is the result of the second pass.
type openDevices struct {
	processes []usage.Process // ascending by pid
	read      []usage.Client  // of Question.Recorded: all files were read
	refused   int             // processes whose files this user may not see
	err       error
}

// The second pass goes in turns. The first turn reads up to firstTurn descriptors of each
// process; each later turn reads turnGrowth times as many, from the beginning, of those
// that have more. So a process with a million descriptors does not hide one with ten, and
// no directory stays open between turns.
const (
	firstTurn  = 512
	turnGrowth = 64
)

// inspection is the result of a turn for a process.
type inspection struct {
	gpus     []gpu.BDF
	process  usage.Process
	more     bool // it has more descriptors than the turn allows
	refused  bool
	complete bool // all of it was read
}

// readDescriptors reads the descriptors of all listed processes, in turns. What an
// unfinished pass has found counts.
func (r *scan) readDescriptors(ctx context.Context, q usage.Question, list *processList) (out openDevices) {
	if out.err = list.err; out.err != nil && !errors.Is(out.err, usage.ErrUnfinished) {
		return out
	}
	dir, err := r.proc.openProc()
	if err != nil {
		return openDevices{err: err}
	}
	defer closeFD(dir)
	all := make([]inspection, len(list.processes))
	var turn []int
	for i, s := range list.processes {
		if !s.skip {
			turn = append(turn, i)
		}
	}
	why := fmt.Sprintf(": there are %d processes", len(list.processes))
	for most := firstTurn; len(turn) > 0; most = min(most, math.MaxInt/turnGrowth) * turnGrowth {
		err := r.inParallel(ctx, dir, len(turn), func(w *worker, i int) {
			w.inspect(list.processes[turn[i]], &all[turn[i]], most)
		})
		if err != nil {
			if out.err == nil {
				out.err = &unfinishedError{why, err}
			}
			break
		}
		turn = slices.DeleteFunc(turn, func(i int) bool { return !all[i].more })
		if len(turn) > 0 {
			s := list.processes[turn[0]]
			why = fmt.Sprintf(": process %d (%s) has over %d files open", s.pid, s.command, most)
		}
	}
	for i, s := range all {
		if s.refused {
			out.refused++
		}
		if c, ok := r.recordedClient(q.Recorded, &list.processes[i], dir); ok && s.complete {
			out.read = append(out.read, c)
		}
		if len(s.gpus) > 0 {
			out.processes = append(out.processes, s.process)
		}
	}
	return out
}

// recordedClient returns the client of a process, if all has it by pid and start time.
func (r *scan) recordedClient(all []usage.Client, s *process, dir int) (usage.Client, bool) {
	if !slices.ContainsFunc(all, func(c usage.Client) bool { return c.PID == s.pid }) {
		return usage.Client{}, false
	}
	w := &worker{scan: r, dir: dir}
	c, ok := w.clientOf(s)
	return c, ok && slices.Contains(all, c)
}

// inspect reads up to most descriptors of a process. A process that ends meanwhile is not
// an error.
func (w *worker) inspect(s process, found *inspection, most int) {
	t := descriptorScan{worker: w, left: most}
	// Most names of kernel threads have a "/", as "kworker/0:1". To ask is less than to look.
	if strings.Contains(s.command, "/") && w.isKernelThread(s.name) {
		found.complete = true
		return
	}
	err := t.readFiles(s.name)
	if t.left == most || t.gone {
		err = t.readThreads(s.name, err)
	}
	found.more, found.refused = t.left <= 0, isAccessDenied(err)
	found.complete = err == nil && !found.more && w.ctx.Err() == nil
	if t.gpus = append(t.gpus, found.gpus...); len(t.gpus) > 0 {
		found.gpus = usage.Sorted(t.gpus)
		found.process = w.describe(s, found.gpus)
	}
}

// isKernelThread reports whether the kernel says that a process is its thread. No process can
// make it say so.
func (w *worker) isKernelThread(name string) bool {
	s, ok := w.readStat(name)
	return ok && s.flags&kernelThread != 0
}

// describe returns the process with its GPUs.
func (w *worker) describe(s process, gpus []gpu.BDF) usage.Process {
	p := usage.Process{PID: s.pid, Command: s.command, GPUs: gpus}
	if client, ok := w.clientOf(&s); ok {
		p.Start, p.PIDNamespace = client.Start, client.PIDNamespace
	}
	if status, ok := w.readStatus(s.name); ok {
		p.UID = status.uid
	}
	if text, err := readAt(w.dir, s.name+"/cgroup", w.text[:]); err == nil {
		p.Container = parseCgroup(string(text))
	}
	return p
}

// descriptorScan collects the GPUs of a process's descriptors, of which left may be read.
type descriptorScan struct {
	*worker
	left int
	gone bool // a listed descriptor was not there when it was read
	gpus []gpu.BDF
}

// readThreads reads the descriptors of the threads of a process that shows none itself,
// or lost one while it was read; why is the error of that. Threads share their files, but
// once the first thread has ended only the others show them. A kernel thread has no
// files, so its error does not count.
func (t *descriptorScan) readThreads(name string, why error) error {
	s, ok := t.readStat(name)
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
			errs = append(errs, t.readFiles(name+"/task/"+thread))
		}
	}
	return errors.Join(errs...)
}

// readFiles reads the descriptors of a process or thread, whose directory is at.
func (t *descriptorScan) readFiles(at string) error {
	dir, err := openEntry(t.dir, t.pathOf(at, "/fd"), unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	defer closeFD(dir)
	var denied error
	first := t.left
	err = eachEntry(dir, t.names[:], func(name cstring) bool {
		if t.left--; t.left%firstTurn == 0 {
			t.progress.Add(1)
		}
		n, err := readLink(dir, name, t.link[:])
		if err != nil {
			// Root without CAP_SYS_PTRACE sees the names alone.
			if isAccessDenied(err) {
				denied = err
			} else {
				t.gone = true
			}
			return denied == nil
		}
		if gpus := t.gpusOf(dir, name, t.link[:n]); len(gpus) > 0 && !t.pathOnly(at, name.text()) {
			t.gpus = append(t.gpus, gpus...)
		}
		t.path = append(t.path[:0], name...)
		return t.left > 0 && t.ctx.Err() == nil
	})
	// A long directory is listed in parts, and ends early with its process.
	if first-t.left >= firstTurn {
		_, gone := readLink(dir, t.path, t.link[:])
		t.gone = t.gone || gone != nil
	}
	if denied != nil {
		return denied
	}
	return err
}

// pathOnly reports whether a descriptor was opened with O_PATH, which needs no right on
// the device and gives none, so that it does not use a GPU. A descriptor whose flags
// cannot be read counts as use.
func (t *descriptorScan) pathOnly(at, name string) bool {
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

// mayBeDevice reports whether the file with this path may be a GPU's device node. To stat
// all files would cost as much again, and hang with a network that hangs.
//
// The path is the one below the root of the file's mount namespace. Once that namespace has
// ended, as that of a container does, it is the one below the file's own mount: of a node of
// /dev it is "/dri/card1", or "/" of a node that was mounted alone. So what counts is a path
// in /dev, a path of a single name, and a name that a GPU's node has. A node of another name
// outside of /dev is not seen.
func (t *descriptorScan) mayBeDevice(path []byte) bool {
	if len(path) == 0 || path[0] != '/' {
		return false // a socket, a pipe
	}
	if bytes.HasPrefix(path, []byte("/dev/")) {
		return string(path) != "/dev/null" // daemons have it open three times
	}
	last := bytes.LastIndexByte(path, '/')
	return last == 0 || t.devices.IsNodeName(bytes.TrimSuffix(path[last+1:], []byte(deleted)))
}

// deleted ends the path of a file that has none any more.
const deleted = " (deleted)"

// gpusOf returns the GPUs of an open file, by its device number, or on a simulated node
// by its path.
func (t *descriptorScan) gpusOf(dir int, name cstring, link []byte) []gpu.BDF {
	if t.devices.Real() {
		if !t.mayBeDevice(link) {
			return nil
		}
		if st, ok := t.stat(dir, name); ok && st.Mode&unix.S_IFMT == unix.S_IFCHR {
			if bdf, ok := t.devices.Number(holders.Number{Major: st.Rdev_major, Minor: st.Rdev_minor}); ok {
				return []gpu.BDF{bdf}
			}
		}
		return nil
	}
	if !bytes.Contains(link, []byte("/dev/")) {
		return nil
	}
	found := t.devices.Path(string(bytes.TrimSuffix(link, []byte(deleted))))
	if len(found) == 0 {
		return nil
	}
	// Path returns the GPUs below a directory, but an open directory does not use them.
	if st, ok := t.stat(dir, name); !ok || st.Mode&unix.S_IFMT == unix.S_IFDIR {
		return nil
	}
	return found
}

// stat is statDescriptor, and remembers if the descriptor was not there any more.
func (t *descriptorScan) stat(dir int, name cstring) (unix.Statx_t, bool) {
	st, ok := statDescriptor(dir, name.text())
	t.gone = t.gone || !ok
	return st, ok
}
