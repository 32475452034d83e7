// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/engine"
	"github.com/metax-ctk/container-toolkit/internal/engine/crio"
	"github.com/metax-ctk/container-toolkit/internal/engine/docker"
	"github.com/metax-ctk/container-toolkit/internal/engine/podman"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
)

// Host is the host whose engines are set up.
type Host struct {
	Root *hostfs.Root
	// Run runs a program and returns its output; nil if none may run, because the
	// programs below another root belong to another system.
	Run func(ctx context.Context, program string, args ...string) ([]byte, error)
	// Getenv is the environment, for DOCKER_HOST.
	Getenv func(string) string
	// Self is the path of metax-ctk, which verification runs in containers. Nodes are
	// the device nodes that a container with all GPUs has.
	Self  string
	Nodes []string
	// Original returns the content of a file before the toolkit first changed it.
	Original func(name string, have []byte) (before []byte, known bool, err error)
}

// programDirs are the directories in which daemons are searched, best first. The
// caller's PATH may differ from the daemon's.
var programDirs = []string{"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin", "/opt/bin"}

// askTimeout is how long a program or a daemon may take to report its version.
const askTimeout = 5 * time.Second

// Program is the path of the first of the programs that exists; "" if none does.
func (h Host) Program(names ...string) string {
	for _, name := range names {
		for _, dir := range programDirs {
			if p := path.Join(dir, name); h.isFile(p) {
				return p
			}
		}
	}
	return ""
}

func (h Host) isFile(p string) bool {
	info, err := h.Root.Stat(p)
	return err == nil && info.Mode.IsRegular()
}

// Read returns the contents of a file, nil if it does not exist.
func (h Host) Read(p string) ([]byte, error) {
	text, err := h.Root.ReadFile(p)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read configuration: %w", err)
	case text == nil:
		return []byte{}, nil // nil would mean that the file does not exist
	}
	return text, nil
}

// State returns what the configuration of docker, podman or crio says for a version of
// it, and the path of its main file. It reads files only.
func (h Host) State(name string, v engine.Version) (file string, s engine.State, err error) {
	switch name {
	case "docker":
		in := docker.Input{Path: docker.Path, Version: v}
		if in.Text, err = h.Read(in.Path); err == nil {
			s, err = docker.Read(in)
		}
		return docker.Path, s, err
	case "podman":
		in, err := h.podmanInput(podman.Main, v)
		if err == nil {
			s, err = podman.Read(in)
		}
		return podman.Main, s, err
	}
	in, err := h.crioInput(crio.Main, v)
	if err == nil {
		s, err = crio.Read(in)
	}
	return crio.Main, s, err
}

// programOutput is the output of a program; nil if it may not run, or fails.
func (h Host) programOutput(ctx context.Context, program string, args ...string) []byte {
	if h.Run == nil || program == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	out, err := h.Run(ctx, program, args...)
	if err != nil {
		return nil
	}
	return out
}

// programVersion is the version that a program prints. The daemon may be older if it has not
// been restarted since an update.
func (h Host) programVersion(ctx context.Context, program string) engine.Version {
	return engine.ParseVersion(string(h.programOutput(ctx, program, "--version")))
}

// originalContent is the content of a file before the first change, if known.
func (h Host) originalContent(p string, have []byte) ([]byte, bool, error) {
	if h.Original == nil {
		return nil, false, nil
	}
	at, err := h.At(p)
	if err != nil {
		return nil, false, err
	}
	return h.Original(at, have)
}

// onThisMachine sets the paths of changes to those on this machine.
func (h Host) onThisMachine(changes []engine.Change, err error) ([]engine.Change, error) {
	if err != nil {
		return nil, err
	}
	for i, c := range changes {
		at, err := h.At(c.Path)
		if err == nil && c.After == nil {
			err = h.checkRemoval(c.Path, at)
		}
		if err != nil {
			return nil, err
		}
		changes[i].Path = at
	}
	return changes, nil
}
