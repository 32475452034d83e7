package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/dockerd"
)

// daemonPatience bounds what a daemon that does not answer may cost; docker
// itself will then say what is wrong with it.
const daemonPatience = 2 * time.Second

// The API versions of the first Docker that knows CDI, 25.0, and of the first
// that has it on by default and lists its devices, 28.2. (Before 1.44 there is
// nothing to ask for.)
const (
	apiCDI     = 44 // 1.44
	apiDefault = 50 // 1.50
)

// info is the part of docker info that reports whether CDI can be used.
type info struct {
	// DiscoveredDevices are the devices that the daemon knows, from 28.2 on.
	DiscoveredDevices []struct{ Source, ID string }
	// CDISpecDirs are the directories that it reads; none where CDI is off.
	CDISpecDirs []string
}

// answer is what a daemon said, or why it said nothing.
type answer struct {
	info info
	err  error
	// asked asks a daemon whose info follows from its version and its configuration
	// for its own, once; nil where info is its own.
	asked func() answer
}

var (
	// errNoDaemon is the answer of no daemon.
	errNoDaemon = errors.New("there is no daemon to ask")
	// errSilent is the answer of a daemon that hangs.
	errSilent = errors.New("no answer within " + daemonPatience.String())
)

// ask asks the daemon behind the socket in the background; an empty path is a
// client that has no daemon. To answer /info the daemon runs its runtimes for
// their versions, which is most of what a start would cost; so where version and
// configuration leave no doubt, /info is not asked.
func ask(socket string, setup setup) <-chan answer {
	said := make(chan answer, 1)
	if socket == "" {
		said <- answer{err: errNoDaemon}
		return said
	}
	go func() {
		if setup.plain(socket) {
			version, err := apiVersion(socket)
			switch {
			case err != nil:
				said <- answer{err: err}
				return
			case version < apiCDI:
				said <- answer{}
				return
			case version >= apiDefault:
				said <- answer{
					info:  info{CDISpecDirs: setup.specDirs},
					asked: sync.OnceValue(func() answer { return told(socket) }),
				}
				return
			}
		}
		said <- told(socket)
	}()
	return said
}

// lists reports whether the daemon resolves all of the names. Where the files do
// not say so, they may be others than those that the daemon reads: it is asked.
func (a answer) lists(names []string) (bool, error) {
	listed, err := a.info.lists(names)
	if listed || a.asked == nil {
		return listed, err
	}
	asked := a.asked()
	if asked.err != nil {
		return false, asked.err
	}
	return asked.info.lists(names)
}

// told is the daemon's own info.
func told(socket string) (a answer) {
	ctx, cancel := context.WithTimeoutCause(context.Background(), daemonPatience, errSilent)
	defer cancel()
	header, body, err := dockerd.Daemon{Socket: socket}.Get(ctx, "/info")
	if err != nil {
		return answer{err: err}
	}
	if err := json.Unmarshal(body, &a.info); err != nil {
		a.err = fmt.Errorf("read the info of the docker daemon at %s: %w", socket, err)
	}
	if version, ok := header.APIVersion(); ok && version >= apiDefault && a.info.DiscoveredDevices == nil {
		a.info.CDISpecDirs = nil // it would list what it finds there, and found nothing
	}
	return a
}

// apiVersion is y of the API version 1.y that the daemon speaks.
func apiVersion(socket string) (int, error) {
	ctx, cancel := context.WithTimeoutCause(context.Background(), daemonPatience, errSilent)
	defer cancel()
	return dockerd.Daemon{Socket: socket}.APIVersion(ctx)
}

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

// plain reports whether the daemon behind the socket is docker's usual one, and
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
