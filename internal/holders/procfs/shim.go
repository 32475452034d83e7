// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/terminal"
)

// shimName begins the kernel's name for a containerd's shim, which is cut off after 15
// letters.
const shimName = "containerd-shim"

// addShimSockets adds the state directories and sockets of all containerds that have
// containers. A shim's working directory is the bundle of a container, and its command
// line names the socket. One shim is enough for a containerd; of other processes only
// the working directory is read.
func (p *Proc) addShimSockets(sockets map[string]string) error {
	dir, err := p.openProc()
	if err != nil {
		return err
	}
	defer closeFD(dir)
	pids, err := processNames(dir)
	if err != nil {
		return fmt.Errorf("list %s: %w", p.dir, err)
	}
	r := shimScan{proc: p, dir: dir, sockets: sockets, known: map[string]bool{}, checked: map[string]bool{}}
	// For a known state directory the socket is known; no shim can change it.
	for state := range sockets {
		r.known[state] = true
	}
	var failed error
	var path cstring
	for _, name := range pids {
		path = append(append(path[:0], name...), "/cwd\x00"...)
		n, err := readLink(dir, path, r.buf[:])
		switch {
		case isAccessDenied(err):
			if err := r.unreadable(name, err); failed == nil {
				failed = err
			}
		case err == nil:
			if state, ok := parseStateDir(string(r.buf[:n])); ok && !r.known[state] {
				r.known[state] = r.addSocket(name, state)
			}
		}
	}
	return failed
}

// shimScan collects what shims know of the containerds.
type shimScan struct {
	proc    *Proc
	dir     int               // open directory of all processes
	sockets map[string]string // by state directory
	known   map[string]bool   // the state directories whose socket is sure
	checked map[string]bool   // addresses, as shims write them, that are in sockets
	buf     [32 << 10]byte
}

// addSocket adds the socket that a process in the state directory names, and reports
// whether it names one: it may not be a shim, or not be trusted.
func (r *shimScan) addSocket(name, state string) bool {
	address, ok := r.address(name)
	if !ok || !r.trusted(name) {
		return false
	}
	if address = resolveLinks(address); !terminal.Clean(address + state) {
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

// unreadable returns the error for a process whose working directory cannot be read, if
// it is a shim of a containerd whose state directory is not known.
func (r *shimScan) unreadable(name string, why error) error {
	address, ok := r.address(name)
	if !ok || r.checked[address] || !r.trusted(name) {
		return nil
	}
	real := resolveLinks(address)
	for _, known := range r.sockets {
		if known == real {
			r.checked[address] = true
			return nil
		}
	}
	return fmt.Errorf("find the containers of %s: %w", real, why)
}

// address returns the socket that a shim names, empty if it names none. It returns false
// for a process that is not a shim, or has ended meanwhile.
func (r *shimScan) address(name string) (address string, ok bool) {
	command, err := readAt(r.dir, name+"/comm", r.buf[:])
	if err != nil || !strings.HasPrefix(string(command), shimName) {
		return "", false
	}
	words, err := readAt(r.dir, name+"/cmdline", r.buf[:])
	if err != nil {
		return "", false
	}
	return parseShimAddress(words), true
}

// resolveLinks returns the address without links. It is called for trusted shims only: a
// path from a user may lead to a file system that hangs.
func resolveLinks(address string) string {
	if real, err := filepath.EvalSymlinks(address); err == nil {
		return real
	}
	return address
}

// trusted reports whether the process is trusted; every user may read its status.
func (r *shimScan) trusted(name string) bool {
	text, err := readAt(r.dir, name+"/status", r.buf[:])
	if err != nil {
		return false
	}
	s, ok := parseStatus(text)
	return ok && s.depth == 1 && r.proc.trustsCommandLine(s)
}

// parseShimAddress returns containerd's socket in the command line of a shim, its words
// ended by NUL; empty if it is not given.
func parseShimAddress(cmdline []byte) string {
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

// parseStateDir returns the state directory of the containerd whose shim has the working
// directory cwd, which is <state>/<kind>/<namespace>/<id>.
func parseStateDir(cwd string) (string, bool) {
	for _, kind := range taskDirs {
		if state, rest, ok := strings.Cut(cwd, "/"+kind+"/"); ok && filepath.IsAbs(state) && strings.Count(rest, "/") == 1 {
			return state, true
		}
	}
	return "", false
}
