package crio

import (
	"fmt"

	"github.com/metax-ctk/container-toolkit/internal/engine"
	"github.com/metax-ctk/container-toolkit/internal/engine/dropin"
	"github.com/metax-ctk/container-toolkit/internal/engine/hookfile"
)

// Where CRI-O keeps its configuration, and we ours. Other files in DropInDir than
// configuration, such as backups, are read by CRI-O too.
const (
	Main      = "/etc/crio/crio.conf"
	DropInDir = "/etc/crio/crio.conf.d"
	DropIn    = DropInDir + "/99-metax.conf"
	// HookDir is where CRI-O looks for hooks unless it is told otherwise, and Hook
	// the file there.
	HookDir = "/usr/share/containers/oci/hooks.d"
	Hook    = HookDir + "/metax-prestart-podman-crio.json"
)

// Input is CRI-O's files as they are.
type Input struct {
	// Main is crio.conf.
	Main dropin.File
	// DropIns are all files below crio.conf.d, ours among them if it is there.
	DropIns []dropin.File
	// Own is the path of ours; empty is DropIn.
	Own string
	// Hook is the text at the path Hook; nil if there is none.
	Hook    []byte
	Version engine.Version
}

// Tables and keys of the configuration.
var (
	runtimes   = key("runtimes")
	defaultKey = key("default_runtime")
	dirsKey    = key("cdi_spec_dirs")
	hooksKey   = key("hooks_dir")
)

func key(names ...string) []string { return append([]string{"crio", "runtime"}, names...) }

// config is the configuration, parsed.
type config struct {
	Input
	own   dropin.Own
	chain dropin.Chain
}

func parse(in Input) (config, error) {
	c := config{Input: in, own: dropin.Own{File: dropin.File{Path: in.Own}, Engine: "crio"}}
	if in.Own == "" {
		c.own.Path = DropIn
	}
	for _, f := range in.DropIns {
		if f.Path == c.own.Path {
			c.own.Text = f.Text
		}
	}
	var err error
	c.chain, err = c.with(c.own.Text)
	return c, err
}

// with is the configuration with another text for our file.
func (c config) with(own []byte) (dropin.Chain, error) {
	files := dropin.InOrder(dropin.With(c.DropIns, c.own.Path, own))
	return dropin.Read(append([]dropin.File{c.Main}, files...)...)
}

// hook is the file of the hook.
func (c config) hook() dropin.File { return dropin.File{Path: Hook, Text: c.Hook} }

// Read tells what the configuration says.
func Read(in Input) (engine.State, error) {
	c, err := parse(in)
	if err != nil {
		return engine.State{}, err
	}
	s := engine.State{Runtimes: map[string]string{}}
	for _, name := range c.chain.Names(runtimes...) {
		if s.Runtimes[name], _, err = runtimePath(c.chain, name); err != nil {
			return engine.State{}, err
		}
	}
	def, err := c.chain.Text(defaultKey...)
	if err != nil {
		return engine.State{}, err
	}
	dirs, err := c.chain.List(dirsKey...)
	if err != nil {
		return engine.State{}, err
	}
	manager, err := c.chain.Text(key("cgroup_manager")...)
	if err != nil {
		return engine.State{}, err
	}
	s.Default, s.SpecDirs, s.Systemd = def.Value, dirs.Value, systemd(manager)
	return s, nil
}

func systemd(manager dropin.Setting[string]) engine.Switch {
	switch {
	case !manager.Set():
		return engine.Unset
	case manager.Value == "systemd":
		return engine.On
	}
	return engine.Off
}

// runtimePath returns the path of a runtime, and the file that has the table that
// counts. A runtime without a path is looked for by its name.
func runtimePath(c dropin.Chain, name string) (path, file string, err error) {
	entry, err := c.Table(key("runtimes", name)...)
	if err != nil || !entry.Set() {
		return "", "", err
	}
	switch value := entry.Value["runtime_path"].(type) {
	case string:
		path = value
	case nil:
	default:
		return "", "", fmt.Errorf("read %s: %w", entry.Path, &engine.SyntaxError{Err: fmt.Errorf("runtime_path of the runtime %q is no text", name)})
	}
	return path, entry.Path, nil
}

// Remove takes out what Configure puts in.
func Remove(in Input, s engine.Setup) ([]engine.Change, error) {
	c, err := parse(in)
	if err != nil {
		return nil, err
	}
	gone := [][]string{defaultKey, dirsKey, hooksKey}
	ours, err := dropin.Read(c.own.File)
	if err != nil {
		return nil, err
	}
	for _, name := range ours.Names(runtimes...) {
		if path, _, err := runtimePath(ours, name); err != nil {
			return nil, err
		} else if name == s.Name || dropin.IsShim(path) {
			gone = append(gone, key("runtimes", name))
		}
	}
	after, err := c.own.Take(gone...)
	if err != nil {
		return nil, err
	}
	if err := c.needed(after); err != nil {
		return nil, err
	}
	hook, err := hookfile.Put(c.hook(), nil)
	return append(c.own.Change(after), hook...), err
}

// needed fails if CRI-O would not start, because the default runtime is gone.
func (c config) needed(after []byte) error {
	chain, err := c.with(after)
	if err != nil {
		return err
	}
	def, err := chain.Text(defaultKey...)
	if err != nil || !def.Set() {
		return err
	}
	_, before, err := runtimePath(c.chain, def.Value)
	if err != nil {
		return err
	}
	if _, now, err := runtimePath(chain, def.Value); err != nil || now != "" || before == "" {
		return err
	}
	return &dropin.NeededError{Runtime: def.Value, Key: "default_runtime", Path: def.Path}
}
