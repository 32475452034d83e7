package procfs

import (
	"bytes"
	"strings"
)

// The engines whose containers each have a monitor.
const (
	podman = "podman"
	crio   = "cri-o"
)

// monitorName is the kernel's name for conmon, which stands over each container
// of Podman and CRI-O for as long as it lives.
const monitorName = "conmon"

// order is what a command line of conmon says.
type order struct {
	engine string
	id     string // of the container, in full
	name   string
	bundle string // directory as conmon sees it
	// runtime is the path of the low-level runtime, empty if it is not told.
	runtime string
}

// valued are conmon's options with a value in the next word or after "=". A word
// that follows one of them is never an option, whatever it looks like: podman
// hands on its own options as values of --exit-command-arg.
var valued = map[string]bool{
	"bundle": true, "b": true, "cid": true, "c": true, "name": true, "n": true, "cuuid": true, "u": true,
	"runtime": true, "r": true, "runtime-arg": true, "runtime-opt": true, "restore": true, "restore-arg": true,
	"persist-dir": true, "0": true, "pidfile": true, "container-pidfile": true, "p": true, "conmon-pidfile": true, "P": true,
	"exec-process-spec": true, "exit-dir": true, "exit-delay": true, "exit-command": true, "exit-command-arg": true,
	"log-path": true, "l": true, "log-level": true, "log-size-max": true, "log-global-size-max": true, "log-tag": true, "log-label": true,
	"timeout": true, "T": true, "socket-dir-path": true, "sdnotify-socket": true, "seccomp-notify-socket": true, "seccomp-notify-plugins": true,
}

// parseMonitor reads the command line of a conmon, its words ended by NUL. It is
// false for what stands over no container: a conmon of an exec session, or none.
//
// Podman is who asks for an exit command, or for the interface with a version;
// CRI-O does neither.
func parseMonitor(cmdline []byte) (order, bool) {
	words := strings.Split(string(bytes.TrimSuffix(cmdline, []byte{0})), "\x00")
	o := order{engine: crio}
	for i := 1; i < len(words) && words[i] != "--"; i++ {
		name, long := strings.CutPrefix(words[i], "--")
		if !long {
			if name = strings.TrimPrefix(words[i], "-"); name == words[i] || name == "" {
				continue
			}
		}
		var value string
		given := false
		if long {
			name, value, given = strings.Cut(name, "=")
		} else if strings.ContainsRune(name[:len(name)-1], 'e') {
			return order{}, false // several letters, as in "-ei"
		} else {
			name = name[len(name)-1:] // only the last of them takes a value
		}
		if valued[name] && !given && i+1 < len(words) {
			i++
			value = words[i]
		}
		switch name {
		case "exec", "e":
			return order{}, false
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
