package procfs

import (
	"bytes"
	"context"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/occupancy"
)

// finds are what one walk over all processes came upon.
type finds struct {
	processes []occupancy.Process
	claimants []occupancy.Claimant
	monitors  []monitor
	refused   int   // processes that this user may not look into
	hidden    bool  // whether /proc does not even show others' processes
	err       error // why the walk ended early
}

// monitor is a conmon that may be believed.
type monitor struct {
	order
	client occupancy.Client
	uid    uint32
	init   int // pid of the container's first process, 0 if it has none
}

// walk is a part of a walk under way. Its buffers serve every process in turn.
type walk struct {
	finds
	ctx      context.Context
	proc     *Proc
	question occupancy.Question
	dir      int    // open directory of all processes
	mounts   string // our mount namespace, empty if it is not known
	families []family
	text     [16 << 10]byte
	names    [16 << 10]byte
	link     [unix.PathMax]byte
	words    []byte // a command line
}

// family is a process with its parent, to find the children of monitors.
type family struct {
	pid, parent int
	start       uint64
}

// maxCommand is how much of a command line is read, in bytes; the labels of a
// lease stand at its beginning.
const maxCommand = 128 << 10

// visit looks at one process. That it ends meanwhile is nothing to tell of. Its
// short name is asked for alone: for all that stat tells the kernel adds up the
// threads, of which shims have many.
func (w *walk) visit(pid int, name string) {
	text, err := readAt(w.dir, name+"/comm", w.text[:])
	if err != nil {
		if refused(err) {
			w.refused++
		}
		return
	}
	command := strings.TrimSuffix(string(text), "\n")
	if w.question.Lost || command == monitorName {
		w.listen(pid, name, command)
	}
	if w.attends(name, command) {
		return
	}
	found, open, err := w.files(name+"/fd", nil)
	if open == 0 {
		found, err = w.closed(name, err)
	}
	if refused(err) {
		w.refused++
	}
	if len(found) > 0 {
		w.processes = append(w.processes, w.process(pid, name, command, found))
	}
}

// stat is what the kernel tells of a process.
func (w *walk) stat(name string) (stat, bool) {
	text, err := readAt(w.dir, name+"/stat", w.text[:])
	if err != nil {
		return stat{}, false
	}
	return parseStat(text)
}

// relate notes who is whose child.
func (w *walk) relate(pids []string) {
	for _, name := range pids {
		pid, err := strconv.Atoi(name)
		if s, ok := w.stat(name); ok && err == nil && s.flags&kernelThread == 0 {
			w.families = append(w.families, family{pid, s.parent, s.start})
		}
	}
}

// process puts together what people want to know of a process with GPUs.
func (w *walk) process(pid int, name, command string, gpus []gpu.BDF) occupancy.Process {
	p := occupancy.Process{PID: pid, Command: command, GPUs: occupancy.Sorted(gpus)}
	if s, ok := w.status(name); ok {
		p.UID = s.uid
	}
	if text, err := readAt(w.dir, name+"/cgroup", w.text[:]); err == nil {
		p.Container = parseCgroup(string(text))
	}
	return p
}

func (w *walk) status(name string) (status, bool) {
	text, err := readAt(w.dir, name+"/status", w.text[:])
	if err != nil || len(text) == len(w.text) {
		return status{}, false // a number cut short would be another
	}
	return parseStatus(text)
}

// listen takes down what a process says of itself, if it is one to be believed.
func (w *walk) listen(pid int, name, command string) {
	if w.words == nil {
		w.words = make([]byte, maxCommand)
	}
	words, err := readAt(w.dir, name+"/cmdline", w.words)
	if err != nil {
		return
	}
	if len(words) == len(w.words) {
		words = words[:bytes.LastIndexByte(words, 0)+1]
	}
	var said claim
	var claims, monitors bool
	var order order
	if w.question.Lost {
		said, claims = parseClaim(words)
	}
	if command == monitorName {
		order, monitors = parseMonitor(words)
	}
	if !claims && !monitors {
		return
	}
	s, ok := w.status(name)
	if !ok || !w.proc.believed(s) {
		return
	}
	life, ok := w.stat(name)
	if !ok {
		return
	}
	namespace, err := w.proc.namespace()
	if err != nil {
		return // nobody could follow a client that Life does not see
	}
	client := occupancy.Client{PID: pid, Start: life.start, PIDNamespace: namespace}
	// In a namespace below ours there are containers, whose root is nobody here.
	if monitors && s.depth == 1 {
		w.monitors = append(w.monitors, monitor{order: order, client: client, uid: s.uid})
	}
	if gpus := w.question.Devices.Indices(said.gpus...); claims && s.depth == 1 && len(gpus) > 0 {
		w.claimants = append(w.claimants, occupancy.Claimant{Client: client, UID: s.uid, Lease: said.lease, GPUs: gpus})
	}
}
