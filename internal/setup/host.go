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

// Host is where engines are looked for.
type Host struct {
	Root *hostfs.Root
	// Run runs a program and returns what it prints. Nil means that none may be run:
	// those below another root are another system's.
	Run func(ctx context.Context, path string, args ...string) ([]byte, error)
	// Getenv is the environment, for DOCKER_HOST.
	Getenv func(string) string
	// Self is the path of metax-ctk, which verification runs in containers, and Nodes
	// are the device nodes that one with all GPUs has.
	Self  string
	Nodes []string
	// Original is what a file was before the toolkit changed it for the first time.
	Original func(path string, have []byte) (before []byte, known bool, err error)
}

// programDirs are the directories in which daemons are looked for, best first. The
// PATH of whoever asks need not be the daemon's.
var programDirs = []string{"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin", "/opt/bin"}

// patience bounds how long a program or a daemon may take to tell its version.
const patience = 5 * time.Second

// Program is the path of the first of the programs that is there; "" if none is.
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

// Read returns the contents of a file, nil if there is none.
func (h Host) Read(p string) ([]byte, error) {
	text, err := h.Root.ReadFile(p)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read configuration: %w", err)
	case text == nil:
		return []byte{}, nil // an empty file is one
	}
	return text, nil
}

// State is what the configuration of docker, podman or crio says for a version of it,
// and the path of its main file. Nobody is asked.
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

// said is what a program prints; nil if it may not be run, or fails.
func (h Host) said(ctx context.Context, program string, args ...string) []byte {
	if h.Run == nil || program == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	out, err := h.Run(ctx, program, args...)
	if err != nil {
		return nil
	}
	return out
}

// version asks a program for its version, which is the daemon's as well unless that
// has not been started again since an update.
func (h Host) version(ctx context.Context, program string) engine.Version {
	return engine.ParseVersion(string(h.said(ctx, program, "--version")))
}

// original is what is known of a file before the first change.
func (h Host) original(p string, have []byte) ([]byte, bool, error) {
	if h.Original == nil {
		return nil, false, nil
	}
	at, err := h.At(p)
	if err != nil {
		return nil, false, err
	}
	return h.Original(at, have)
}

// placed gives changes of the host's files the paths that they have on this machine.
func (h Host) placed(changes []engine.Change, err error) ([]engine.Change, error) {
	if err != nil {
		return nil, err
	}
	for i, c := range changes {
		at, err := h.At(c.Path)
		if err == nil && c.After == nil {
			err = h.fixed(c.Path, at)
		}
		if err != nil {
			return nil, err
		}
		changes[i].Path = at
	}
	return changes, nil
}
