package procfs

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// shimName begins the kernel's name for what stands over a containerd's
// containers; more does not fit into it.
const shimName = "containerd-shim"

// shims adds the state directories of all containerds that have containers, with
// their sockets, as their shims tell: each works in the bundle of one of them.
func (p *Proc) shims(sockets map[string]string) error {
	dir, err := openAt(unix.AT_FDCWD, p.dir, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return fmt.Errorf("open %s: %w", p.dir, err)
	}
	defer unix.Close(dir)
	var failed error
	buf := make([]byte, 32<<10)
	err = eachName(dir, make([]byte, 32<<10), func(name string) bool {
		if pid, err := strconv.Atoi(name); err != nil || pid <= 0 {
			return true
		}
		command, err := readAt(dir, name+"/comm", buf)
		if err != nil || !strings.HasPrefix(string(command), shimName) {
			return true
		}
		if err := p.shim(dir, name, buf, sockets); err != nil && failed == nil {
			failed = err
		}
		return true
	})
	if err != nil {
		return fmt.Errorf("list %s: %w", p.dir, err)
	}
	return failed
}

// shim adds what one shim tells, if it is to be believed.
func (p *Proc) shim(dir int, name string, buf []byte, sockets map[string]string) error {
	text, err := readAt(dir, name+"/status", buf)
	if err != nil {
		return nil // ended meanwhile; status is there for everybody
	}
	if s, ok := parseStatus(text); !ok || !p.believed(s) {
		return nil
	}
	words, err := readAt(dir, name+"/cmdline", buf)
	if err != nil {
		return nil
	}
	address := shimAddress(words)
	if real, err := filepath.EvalSymlinks(address); err == nil {
		address = real
	}
	n, err := unix.Readlinkat(dir, name+"/cwd", buf)
	if refused(err) {
		for _, known := range sockets {
			if known == address {
				return nil
			}
		}
		return fmt.Errorf("find the containers of %s: %w", address, err)
	}
	if err != nil {
		return nil
	}
	state, ok := shimState(string(buf[:n]))
	if !ok {
		return nil
	}
	if !filepath.IsAbs(address) {
		if _, known := sockets[state]; known {
			return nil
		}
		address = filepath.Join(state, "containerd.sock")
	}
	sockets[state] = address
	return nil
}

// shimAddress is containerd's socket in the command line of a shim, its words
// ended by NUL; empty where it is not told.
func shimAddress(cmdline []byte) string {
	words := strings.Split(string(cmdline), "\x00")
	for i, word := range words {
		name, value, given := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(word, "-"), "-"), "=")
		switch {
		case name != "address" || len(word) == len(name):
			continue
		case given:
			return value
		case i+1 < len(words):
			return words[i+1]
		}
	}
	return ""
}

// shimState is the state directory of the containerd whose shim works in cwd,
// <state>/<kind>/<namespace>/<id>.
func shimState(cwd string) (string, bool) {
	for _, kind := range taskDirs() {
		if state, rest, ok := strings.Cut(cwd, "/"+kind+"/"); ok && filepath.IsAbs(state) && strings.Count(rest, "/") == 1 {
			return state, true
		}
	}
	return "", false
}
