// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// The engines whose containers have a conmon each.
const (
	podman = "podman"
	crio   = "cri-o"
)

// monitorName is the kernel's name for conmon, the monitor of one container of Podman or
// CRI-O. It lives as long as the container.
const monitorName = "conmon"

// conmonArgs is what a command line of conmon says.
type conmonArgs struct {
	engine string
	id     string // of the container, in full
	name   string
	bundle string // directory as conmon sees it
	// runtime is the path of the low-level runtime, empty if it is not given.
	runtime string
}

// valueOptions are conmon's options with a value in the next word or after "=". The word
// after one of them is never an option, whatever it looks like: podman passes its own
// options as values of --exit-command-arg.
var valueOptions = map[string]bool{
	"bundle": true, "b": true, "cid": true, "c": true, "name": true, "n": true, "cuuid": true, "u": true,
	"runtime": true, "r": true, "runtime-arg": true, "runtime-opt": true, "restore": true, "restore-arg": true,
	"persist-dir": true, "0": true, "pidfile": true, "container-pidfile": true, "p": true, "conmon-pidfile": true,
	"P":                 true,
	"exec-process-spec": true, "exit-dir": true, "exit-delay": true, "exit-command": true, "exit-command-arg": true,
	"log-path": true, "l": true, "log-level": true, "log-size-max": true, "log-global-size-max": true, "log-tag": true,
	"log-label": true,
	"timeout":   true, "T": true, "socket-dir-path": true, "sdnotify-socket": true, "seccomp-notify-socket": true,
	"seccomp-notify-plugins": true,
}

// parseConmon reads the command line of a conmon, its words ended by NUL. It returns
// false where the command line names no container, or is that of an exec session.
//
// Podman passes an exit command or the version of the interface; CRI-O passes neither.
func parseConmon(cmdline []byte) (conmonArgs, bool) {
	words := strings.Split(string(bytes.TrimSuffix(cmdline, []byte{0})), "\x00")
	o := conmonArgs{engine: crio}
	for i := 1; i < len(words) && words[i] != "--"; i++ {
		name, long := strings.CutPrefix(words[i], "--")
		if !long {
			if name = strings.TrimPrefix(words[i], "-"); name == words[i] || name == "" {
				continue
			}
		}
		var value string
		given := false
		switch {
		case long:
			name, value, given = strings.Cut(name, "=")
		case strings.ContainsRune(name[:len(name)-1], 'e'):
			return conmonArgs{}, false // several letters, as in "-ei"
		default:
			name = name[len(name)-1:] // only the last of them takes a value
		}
		if valueOptions[name] && !given && i+1 < len(words) {
			i++
			value = words[i]
		}
		switch name {
		case "exec", "e":
			return conmonArgs{}, false
		case "cid", "c":
			o.id = value
		case "name", "n":
			o.name = value
		case "bundle", "b":
			o.bundle = value
		case "runtime", "r":
			o.runtime = value
		case "exit-command", "api-version", "full-attach":
			o.engine = podman
		}
	}
	return o, fullID(o.id)
}

// monitor is a conmon whose command line is trusted.
type monitor struct {
	conmonArgs
	client usage.Client
	uid    uint32
	init   int // pid of the container's first process, 0 if it has none
}

// parentage is a process with its parent, to find the children of monitors. The zero
// value is not a process.
type parentage struct {
	pid, parent int
	start       uint64
}

func (w *worker) readParent(s process) parentage {
	if stat, ok := w.readStat(s.name); ok && stat.flags&kernelThread == 0 {
		return parentage{s.pid, stat.parent, stat.start}
	}
	return parentage{}
}

// findInits sets the first process of each monitor's container: the monitor's oldest
// child, as orphans of the container become its children later. Of several monitors of
// one container only the youngest counts: the one before forked it, and is about to
// end.
func (l *processList) findInits(parents []parentage) {
	for i := range l.monitors {
		m := &l.monitors[i]
		var oldest uint64
		for _, f := range parents {
			if f.pid != 0 && f.parent == m.client.PID &&
				(m.init == 0 || f.start < oldest || (f.start == oldest && f.pid < m.init)) {
				m.init, oldest = f.pid, f.start
			}
		}
	}
	slices.SortFunc(l.monitors, func(a, b monitor) int {
		return cmp.Or(strings.Compare(a.id, b.id), cmp.Compare(b.client.Start, a.client.Start),
			cmp.Compare(b.client.PID, a.client.PID))
	})
	l.monitors = slices.CompactFunc(l.monitors, func(a, b monitor) bool { return a.id == b.id })
}
