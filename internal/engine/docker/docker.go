package docker

import (
	"fmt"

	"github.com/metax-ctk/container-toolkit/internal/engine"
)

// Path is where dockerd looks for its configuration if nobody tells it otherwise.
const Path = "/etc/docker/daemon.json"

// Input is what there is before an edit.
type Input struct {
	// Path is that of daemon.json, for messages and the change.
	Path string
	// Text is its content; nil means that there is no file.
	Text []byte
	// Version is that of dockerd.
	Version engine.Version
	// Original is the content before the first change of ours, nil if there was no
	// file; it counts only with HasOriginal.
	Original    []byte
	HasOriginal bool
}

// Read tells what the configuration says. A file that dockerd could not read is an
// *engine.SyntaxError.
func Read(in Input) (engine.State, error) {
	f, err := parse(in.Text, in.Version)
	if err != nil {
		return engine.State{}, fmt.Errorf("parse %s: %w", in.Path, err)
	}
	return f.state(), nil
}

// Configure sets dockerd up. It adds to what is there: a default runtime, a switch
// or directories of an earlier Setup stay where s does not ask for them.
func Configure(in Input, s engine.Setup) ([]engine.Change, error) {
	after, err := configure(in, s)
	if err != nil {
		return nil, fmt.Errorf("configure %s: %w", in.Path, err)
	}
	return engine.Changed(in.Path, in.Text, after), nil
}

// Remove takes out what Configure put in: the runtime of our name if it is
// metax-runtime, the default runtime if it is the one that goes. features.cdi and the
// directories go with the last runtime of ours, where the original is known; without
// it nobody can tell whose these are, and they do no harm.
func Remove(in Input, s engine.Setup) ([]engine.Change, error) {
	after, err := remove(in, s)
	if err != nil {
		return nil, fmt.Errorf("edit %s: %w", in.Path, err)
	}
	return engine.Changed(in.Path, in.Text, after), nil
}
