// SPDX-License-Identifier: Apache-2.0

package inject

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/cdi"
	"github.com/metax-ctk/container-toolkit/internal/dockerd"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
)

// EngineTimeout is how long a daemon may take for one answer; docker itself will then
// report what is wrong with it.
const EngineTimeout = 2 * time.Second

// The API versions of the first Docker that knows CDI, 25.0, and of the first that has it on
// by default and lists its devices, 28.2. (Before 1.44 there is nothing to ask for.)
const (
	apiCDI     = 44 // 1.44
	apiDefault = 50 // 1.50
)

// info is the daemon's description of itself, which reports whether CDI can be used.
type info dockerd.Info

type discovered = dockerd.Discovered

// Daemon is what a docker daemon answered on CDI, or why it did not answer.
type Daemon struct {
	info info
	err  error
	// asked asks a daemon whose info follows from its version and its configuration
	// for its own, once; nil where info is its own.
	asked func() Daemon
	// resolved has what was read of the specs; nil keeps nothing. One goroutine uses it.
	resolved map[string]resolution
}

var (
	// errNoDaemon is the answer where there is no daemon.
	errNoDaemon = errors.New("there is no daemon to ask")
	// errSilent is the answer of a daemon that hangs.
	errSilent = errors.New("no answer within " + EngineTimeout.String())
)

// Ask asks the docker daemon behind the socket in the background; an empty path is a client
// that has no daemon. To answer /info the daemon runs its runtimes for their versions, which
// is most of what a start would cost; so where version and configuration leave no doubt, /info
// is not asked.
func Ask(socket string) <-chan Daemon { return docker.ask(socket) }

func (s setup) ask(socket string) <-chan Daemon {
	said := make(chan Daemon, 1)
	if socket == "" {
		said <- Daemon{err: errNoDaemon}
		return said
	}
	go func() {
		if s.isUsual(socket) {
			version, err := apiVersion(socket)
			switch {
			case err != nil:
				said <- Daemon{err: err}
				return
			case version < apiCDI:
				said <- Daemon{}
				return
			case version >= apiDefault:
				said <- Daemon{
					resolved: map[string]resolution{},
					info:     info{CDISpecDirs: s.specDirs},
					asked:    sync.OnceValue(func() Daemon { return daemonInfo(socket) }),
				}
				return
			}
		}
		said <- daemonInfo(socket)
	}()
	return said
}

// daemonInfo is the daemon's own info.
func daemonInfo(socket string) (d Daemon) {
	d.resolved = map[string]resolution{}
	ctx, cancel := context.WithTimeoutCause(context.Background(), EngineTimeout, errSilent)
	defer cancel()
	said, header, err := dockerd.Daemon{Socket: socket}.Info(ctx)
	if err != nil {
		return Daemon{err: err}
	}
	d.info = info(said)
	if version, ok := header.APIVersion(); ok && version >= apiDefault && d.info.DiscoveredDevices == nil {
		d.info.CDISpecDirs = nil // it would list what it finds there, and found nothing
	}
	return d
}

// apiVersion is y of the API version 1.y that the daemon speaks.
func apiVersion(socket string) (int, error) {
	ctx, cancel := context.WithTimeoutCause(context.Background(), EngineTimeout, errSilent)
	defer cancel()
	return dockerd.Daemon{Socket: socket}.APIVersion(ctx)
}

// setup is where the configuration of a docker daemon stands, as far as it can change
// what the daemon makes of CDI.
type setup struct {
	sockets  []string // where docker listens unless told otherwise
	config   string   // daemon.json
	pidFile  string
	proc     string
	specDirs []string // which it reads unless told otherwise
}

// docker is docker's own.
var docker = setup{
	sockets:  []string{"/var/run/docker.sock", "/run/docker.sock"},
	config:   "/etc/docker/daemon.json",
	pidFile:  "/var/run/docker.pid",
	proc:     "/proc",
	specDirs: cdi.Dirs(),
}

// isUsual reports whether the daemon behind the socket is docker's usual one, and neither
// its file nor its command line mentions CDI. One that cannot be read may mention it.
func (s setup) isUsual(socket string) bool {
	if !slices.Contains(s.sockets, socket) {
		return false
	}
	host, err := hostfs.New("/")
	if err != nil {
		return false
	}
	config, err := host.ReadFile(s.config)
	if (err != nil && !errors.Is(err, fs.ErrNotExist)) || bytes.Contains(config, []byte("cdi")) {
		return false
	}
	pid, err := host.ReadFile(s.pidFile)
	if err != nil {
		return false
	}
	command, err := host.ReadFile(filepath.Join(s.proc, filepath.Base(strings.TrimSpace(string(pid))), "cmdline"))
	// An empty command line, or another program's, is that of a reused number.
	program, options, _ := bytes.Cut(command, []byte{0})
	return err == nil && filepath.Base(string(program)) == "dockerd" &&
		!bytes.Contains(options, []byte("cdi")) && !bytes.Contains(options, []byte("config-file"))
}
