package main

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// setup is where the configuration of a docker daemon stands, so far as it can
// change what the daemon makes of CDI.
type setup struct {
	sockets  []string // where docker listens unless told otherwise
	config   string   // daemon.json
	pidFile  string
	proc     string
	specDirs []string // which it reads unless told otherwise
}

// dockerSetup is docker's own.
var dockerSetup = setup{
	sockets:  []string{"/var/run/docker.sock", "/run/docker.sock"},
	config:   "/etc/docker/daemon.json",
	pidFile:  "/var/run/docker.pid",
	proc:     "/proc",
	specDirs: []string{"/etc/cdi", "/var/run/cdi"},
}

// plain tells whether the daemon behind the socket is docker's usual one, and
// neither its file nor its command line has a word on CDI. What cannot be read
// may have one.
func (s setup) plain(socket string) bool {
	if !slices.Contains(s.sockets, socket) {
		return false
	}
	config, err := os.ReadFile(s.config)
	if err != nil && !errors.Is(err, fs.ErrNotExist) || bytes.Contains(config, []byte("cdi")) {
		return false
	}
	pid, err := os.ReadFile(s.pidFile)
	if err != nil {
		return false
	}
	command, err := os.ReadFile(filepath.Join(s.proc, filepath.Base(strings.TrimSpace(string(pid))), "cmdline"))
	// An empty command line, or another program's, is that of a reused number.
	program, options, _ := bytes.Cut(command, []byte{0})
	return err == nil && filepath.Base(string(program)) == "dockerd" &&
		!bytes.Contains(options, []byte("cdi")) && !bytes.Contains(options, []byte("config-file"))
}
