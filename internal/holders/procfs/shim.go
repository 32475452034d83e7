package procfs

import (
	"fmt"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/terminal"
)

// shimName begins the kernel's name for what stands over a containerd's
// containers; more does not fit into it.
const shimName = "containerd-shim"

// shims adds the state directories of all containerds that have containers, with
// their sockets, as their shims tell: each works in the bundle of one of them. One
// shim's word is enough for a containerd, and of other processes where they work
// is all that is asked for.
func (p *Proc) shims(sockets map[string]string) error {
	dir, err := p.openProc()
	if err != nil {
		return err
	}
	defer closeFD(dir)
	pids, err := processNames(dir)
	if err != nil {
		return fmt.Errorf("list %s: %w", p.dir, err)
	}
	// No shim moves the socket of a containerd that is known by its place.
	told := make(map[string]bool, len(sockets))
	for state := range sockets {
		told[state] = true
	}
	r := roll{proc: p, dir: dir, sockets: sockets, told: told, fine: map[string]bool{}}
	var failed error
	for _, name := range pids {
		n, err := unix.Readlinkat(dir, name+"/cwd", r.buf[:])
		switch {
		case refused(err):
			if err := r.closed(name, err); failed == nil {
				failed = err
			}
		case err == nil:
			if state, ok := shimState(string(r.buf[:n])); ok && !r.told[state] {
				r.told[state] = r.tells(name, state)
			}
		}
	}
	return failed
}

// roll is what shims have told of the containerds.
type roll struct {
	proc    *Proc
	dir     int               // open directory of all processes
	sockets map[string]string // by state directory
	told    map[string]bool   // the state directories whose socket is sure
	fine    map[string]bool   // addresses, as shims write them, that are in sockets
	buf     [32 << 10]byte
}

// tells adds the socket that a process at work in the state directory names, and
// returns whether it does: it may be no shim, or none to be believed.
func (r *roll) tells(name, state string) bool {
	address, ok := r.address(name)
	if !ok || !r.believed(name) {
		return false
	}
	if address = resolved(address); !terminal.Clean(address + state) {
		return false // the state of leases could not be written with it
	}
	if filepath.IsAbs(address) {
		r.sockets[state] = address
		return true
	}
	if _, known := r.sockets[state]; !known {
		r.sockets[state] = filepath.Join(state, "containerd.sock")
	}
	return false
}

// closed is the error for a process that does not show where it works, if it is a
// shim of a containerd whose containers are not known by place.
func (r *roll) closed(name string, why error) error {
	address, ok := r.address(name)
	if !ok || r.fine[address] || !r.believed(name) {
		return nil
	}
	real := resolved(address)
	for _, known := range r.sockets {
		if known == real {
			r.fine[address] = true
			return nil
		}
	}
	return fmt.Errorf("find the containers of %s: %w", real, why)
}

// address is the socket that a shim names, empty if it names none. It is not ok
// for what is no shim, or has ended meanwhile.
func (r *roll) address(name string) (address string, ok bool) {
	command, err := readAt(r.dir, name+"/comm", r.buf[:])
	if err != nil || !strings.HasPrefix(string(command), shimName) {
		return "", false
	}
	words, err := readAt(r.dir, name+"/cmdline", r.buf[:])
	if err != nil {
		return "", false
	}
	return shimAddress(words), true
}

// resolved is the address without links. It is asked for where a shim is believed
// only: whoever writes a path chooses which file systems it leads over.
func resolved(address string) string {
	if real, err := filepath.EvalSymlinks(address); err == nil {
		return real
	}
	return address
}

// believed reports whether what the process says counts; status is there for
// everybody.
func (r *roll) believed(name string) bool {
	text, err := readAt(r.dir, name+"/status", r.buf[:])
	if err != nil {
		return false
	}
	s, ok := parseStatus(text)
	return ok && s.depth == 1 && r.proc.believed(s)
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
