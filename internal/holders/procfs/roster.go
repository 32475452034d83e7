package procfs

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// roster is who is there: what the first pass finds.
type roster struct {
	subjects  []subject // ascending by pid
	monitors  []monitor
	claimants []usage.Claimant
	hidden    bool // /proc does not even show the processes of others
	refused   int  // processes whose name this user may not read
	err       error
}

// subject is a process other than our own.
type subject struct {
	pid     int
	name    string // the pid as /proc writes it
	command string // the kernel's short name for it
	// skip is true for a process that has ended, may not be read, or stands over a
	// container (attends).
	skip     bool
	refused  bool
	monitor  *monitor
	claimant *usage.Claimant
}

// monitor is a conmon whose word counts.
type monitor struct {
	order
	client usage.Client
	uid    uint32
	init   int // pid of the container's first process, 0 if it has none
}

// maxCommand is how much of a command line is read, in bytes; the labels of a
// lease stand at its beginning.
const maxCommand = 128 << 10

// enlist makes the roster.
func (r *round) enlist(ctx context.Context, q usage.Question) (list roster) {
	dir, err := r.proc.openProc()
	if err != nil {
		return roster{err: err}
	}
	defer closeFD(dir)
	pids, err := processNames(dir)
	if err != nil {
		return roster{err: fmt.Errorf("list %s: %w", r.proc.dir, err)}
	}
	list.hidden = !slices.Contains(pids, "1")
	self, _ := os.Readlink(r.proc.dir + "/self")          // without it we are seen as any other
	mounts, _ := os.Readlink(r.proc.dir + "/self/ns/mnt") // without it no process is passed over
	for _, name := range pids {
		if pid, err := strconv.Atoi(name); err == nil && name != self {
			list.subjects = append(list.subjects, subject{pid: pid, name: name})
		}
	}
	err = r.crew(ctx, dir, len(list.subjects), func(w *worker, i int) { w.enlist(&list.subjects[i], mounts, q) })
	if err != nil {
		list.err = unfinished(fmt.Sprintf(": there are %d processes", len(list.subjects)), err)
	}
	for _, s := range list.subjects {
		if s.refused {
			list.refused++
		}
		if s.monitor != nil {
			list.monitors = append(list.monitors, *s.monitor)
		}
		if s.claimant != nil {
			list.claimants = append(list.claimants, *s.claimant)
		}
	}
	if len(list.monitors) > 0 {
		families := make([]family, len(list.subjects))
		if err := r.crew(ctx, dir, len(families), func(w *worker, i int) { families[i] = w.family(list.subjects[i]) }); err != nil {
			list.err = unfinished(": the containers of conmon are not known", err)
		}
		list.adopt(families)
	}
	list.claimants = firsts(list.claimants)
	return list
}

// processNames lists the processes in the open directory, by the names that are
// their pids, ascending.
func processNames(dir int) ([]string, error) {
	var pids []string
	err := eachName(dir, make([]byte, 32<<10), func(name string) bool {
		if pid, err := strconv.Atoi(name); err == nil && pid > 0 {
			pids = append(pids, name)
		}
		return true
	})
	slices.SortFunc(pids, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
	return pids, err
}

// enlist reads the name of a process, and its command line where that counts. Of
// stat only the name would be of use, and for the rest the kernel adds up threads,
// of which shims have many.
func (w *worker) enlist(s *subject, mounts string, q usage.Question) {
	text, err := readAt(w.dir, s.name+"/comm", w.text[:])
	if err != nil {
		s.skip, s.refused = true, refused(err)
		return
	}
	s.command = strings.TrimSuffix(string(text), "\n")
	if q.Lost || s.command == monitorName {
		w.listen(s, q)
	}
	s.skip = w.attends(s.name, s.command, mounts)
}

// listen takes down what a process says of itself, if its word counts.
func (w *worker) listen(s *subject, q usage.Question) {
	// First who speaks: the kernel tells it at once, while a command line stands in the
	// process's memory, and whoever reads it may have to wait for the process.
	status, ok := w.status(s.name)
	if !ok || status.depth != 1 || !w.proc.believed(status) {
		return // in a namespace below ours there are containers, whose root is nobody here
	}
	if w.words == nil {
		w.words = make([]byte, maxCommand)
	}
	words, err := readAt(w.dir, s.name+"/cmdline", w.words)
	if err != nil {
		return
	}
	if len(words) == len(w.words) {
		words = words[:bytes.LastIndexByte(words, 0)+1]
	}
	var said claim
	var claims, monitors bool
	var order order
	if q.Lost {
		said, claims = parseClaim(words)
	}
	if s.command == monitorName {
		order, monitors = parseMonitor(words)
	}
	if !claims && !monitors {
		return
	}
	client, ok := w.client(s)
	if !ok || client.PIDNamespace == 0 {
		return // nobody could follow a client that Life does not see
	}
	if monitors {
		s.monitor = &monitor{order: order, client: client, uid: status.uid}
	}
	if gpus := w.devices.Indices(said.gpus...); claims && len(gpus) > 0 {
		s.claimant = &usage.Claimant{Client: client, UID: status.uid, Lease: said.lease, GPUs: gpus}
	}
}

// client is the process as Life knows it; its namespace is 0 where /proc is not
// that of ours.
func (w *worker) client(s *subject) (usage.Client, bool) {
	stat, ok := w.stat(s.name)
	if !ok {
		return usage.Client{}, false
	}
	namespace, err := w.proc.namespace()
	if err != nil {
		namespace = 0
	}
	return usage.Client{PID: s.pid, Start: stat.start, PIDNamespace: namespace}, true
}

// stat is what the kernel tells of a process.
func (w *worker) stat(name string) (stat, bool) {
	text, err := readAt(w.dir, name+"/stat", w.text[:])
	if err != nil {
		return stat{}, false
	}
	return parseStat(text)
}

func (w *worker) status(name string) (status, bool) {
	text, err := readAt(w.dir, name+"/status", w.text[:])
	if err != nil || len(text) == len(w.text) {
		return status{}, false // a number cut short would be another
	}
	return parseStatus(text)
}
