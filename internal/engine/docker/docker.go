// SPDX-License-Identifier: Apache-2.0

package docker

import (
	"fmt"

	"github.com/metax-ctk/container-toolkit/internal/engine"
)

// Path is dockerd's default configuration file.
const Path = "/etc/docker/daemon.json"

// Input is what is known of a daemon.json before an edit.
type Input struct {
	// Path is the path of daemon.json, for messages and the Change.
	Path string
	// Text is its content; nil means that it does not exist.
	Text []byte
	// Version is that of dockerd.
	Version engine.Version
	// Original is the content before the toolkit first changed it, nil if the file did
	// not exist; it counts only with HasOriginal.
	Original    []byte
	HasOriginal bool
}

// Read returns what the configuration says. The error is an *engine.SyntaxError if
// dockerd could not read it.
func Read(in Input) (engine.State, error) {
	f, err := parseConfig(in.Text, in.Version)
	if err != nil {
		return engine.State{}, fmt.Errorf("parse %s: %w", in.Path, err)
	}
	return f.engineState(), nil
}

// Configure sets dockerd up. It only adds: a default runtime, a switch or directories
// of an earlier Setup stay if s does not request them.
func Configure(in Input, s engine.Setup) ([]engine.Change, error) {
	after, err := applySetup(in, s)
	if err != nil {
		return nil, fmt.Errorf("configure %s: %w", in.Path, err)
	}
	return engine.Changed(in.Path, in.Text, after), nil
}

// Remove removes what Configure added: the runtime of our name if it is metax-runtime,
// and the default runtime if that is the one removed. features.cdi and the directories
// go with the last metax-runtime that was added, but only where the original is known:
// without it one cannot see who added them, and they do no harm.
func Remove(in Input, s engine.Setup) ([]engine.Change, error) {
	after, err := removeSetup(in, s)
	if err != nil {
		return nil, fmt.Errorf("edit %s: %w", in.Path, err)
	}
	return engine.Changed(in.Path, in.Text, after), nil
}
