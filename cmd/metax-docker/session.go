// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/metax-ctk/container-toolkit/internal/assign"
	"github.com/metax-ctk/container-toolkit/internal/dockerargs"
	"github.com/metax-ctk/container-toolkit/internal/dockerd"
	"github.com/metax-ctk/container-toolkit/internal/edits"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/inject"
	"github.com/metax-ctk/container-toolkit/internal/node"
)

// session is what one command line finds out about its engine and its node. Its parts are
// there once the method that finds them was called.
type session struct {
	*wrapper
	flags  dockerargs.Flags     // those that say where the client's engine listens
	socket string               // of the docker daemon; empty for a client that has none
	daemon func() inject.Daemon // what the daemon can do (askDaemon)
	at     node.Selector
	node   gpu.Node                      // as it was read (loadNode)
	root   string                        // where the node's "/" is on this machine (findRoot)
	way    func(edits.Edits) edits.Edits // how edits reach a container (chooseWay)
	tasks  <-chan assign.Listed          // containerd's, if they were listed ahead
	image  <-chan imageDescription       // of the line's image (describeImage)
}

// openSession finds the engine; it fails for a daemon on another host.
func (w *wrapper) openSession(flags dockerargs.Flags) (*session, error) {
	s := &session{wrapper: w, flags: flags, at: selector(w.settings)}
	if w.client.engine() != "docker" {
		return s, nil
	}
	host, _ := flags.Last("host")
	contextName, _ := flags.Last("context")
	configDir, _ := flags.Last("config")
	address, origin, err := dockerd.Endpoint(
		dockerd.ClientOptions{Host: host, Context: contextName, ConfigDir: configDir, Getenv: w.Getenv})
	if err != nil {
		return nil, err
	}
	s.socket, err = localSocket(address, origin)
	return s, err
}

// localSocket returns the path of the daemon's socket, or an error for a daemon that may run
// on another host: there our GPUs do not exist.
func localSocket(address, origin string) (string, error) {
	path, ok := strings.CutPrefix(address, "unix://")
	if !ok {
		return "", fmt.Errorf(
			"the docker daemon at %q (from %s) may be on another host, and GPUs are picked on this one: run metax-docker there, or name a unix socket", address, origin)
	}
	return path, nil
}

// askDaemon asks the daemon what it can do, while the node is read: both take a few
// milliseconds.
func (s *session) askDaemon() {
	socket := s.socket
	if s.settings.DockerInject.Text == dockerargs.InjectFlags {
		socket = "" // no answer would change anything
	}
	asked := inject.Ask(socket)
	s.daemon = sync.OnceValue(func() inject.Daemon { return <-asked })
}

// errElsewhere says what follows from a node that is not this host, and the other way out.
func (s *session) errElsewhere(what string) error {
	return fmt.Errorf(
		"node %q (from %s) is not this host, so its %s make a host tree with metax-ctk sim create and name it in METAX_CTK_ROOT", s.at.Node, s.settings.Node.Origin, what)
}

// loadNode reads the node.
func (s *session) loadNode() (err error) {
	s.node, err = s.at.Load(context.Background())
	if err == nil && !s.at.IsHost() && !s.node.HasDevices() {
		err = fmt.Errorf("node %q (from %s) has no device nodes to give; a snapshot or Node JSON has them (docs/node.md)",
			s.at.Node, s.settings.Node.Origin)
	}
	return err
}

// findRoot finds where the node's "/" is on this machine.
func (s *session) findRoot() error {
	root := s.settings.Root
	path, err := filepath.Abs(root.Text)
	if err != nil {
		return fmt.Errorf("resolve root %q: %w", root.Text, err)
	}
	if strings.Contains(path, ":") {
		return fmt.Errorf("root %q (from %s) has a colon, which docker takes for the end of a path", path, root.Origin)
	}
	s.root = path
	return nil
}

// nerdctlAddress is the value of nerdctl's --address by any of its names, of which the last
// one counts; empty if it is not given.
func nerdctlAddress(flags dockerargs.Flags) (address string) {
	for _, f := range flags {
		if slices.Contains([]string{"address", "a", "host", "H"}, f.Name) {
			address = f.Value
		}
	}
	return address
}
