package podman

import (
	"path"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/engine"
	"github.com/metax-ctk/container-toolkit/internal/engine/dropin"
	"github.com/metax-ctk/container-toolkit/internal/engine/hookfile"
)

// Where Podman's configuration is, and ours.
const (
	Vendor    = "/usr/share/containers/containers.conf"
	Main      = "/etc/containers/containers.conf"
	DropInDir = "/etc/containers/containers.conf.d"
	DropIn    = DropInDir + "/99-metax.conf"
	// HookDir is where our hook goes. Podman looks only in VendorHookDir unless it is
	// told otherwise.
	HookDir       = "/etc/containers/oci/hooks.d"
	VendorHookDir = "/usr/share/containers/oci/hooks.d"
)

// Input is Podman's files as they are.
type Input struct {
	Vendor, Main dropin.File
	// DropIns are all files in containers.conf.d, ours among them if it is there.
	DropIns []dropin.File
	// Own is the path of ours; empty is DropIn.
	Own string
	// Hooks are the files in HookDir, at least those with names of ours.
	Hooks []dropin.File
	// CRIO tells whether CRI-O reads HookDir on this machine.
	CRIO    bool
	Version engine.Version
}

// Keys of the configuration.
var (
	runtimes   = key("runtimes")
	defaultKey = key("runtime")
	dirsKey    = key("cdi_spec_dirs")
	hooksKey   = key("hooks_dir")
)

func key(names ...string) []string { return append([]string{"engine"}, names...) }

// config is the configuration, parsed.
type config struct {
	Input
	own   dropin.Own
	chain dropin.Chain
}

func parse(in Input) (config, error) {
	c := config{Input: in, own: dropin.Own{File: dropin.File{Path: in.Own}, Engine: "podman"}}
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
	files := []dropin.File{c.Vendor, c.Main}
	for _, f := range dropin.InOrder(dropin.With(c.DropIns, c.own.Path, own)) {
		if strings.HasSuffix(f.Path, ".conf") && path.Dir(f.Path) == path.Dir(c.own.Path) {
			files = append(files, f)
		}
	}
	return dropin.Read(files...)
}

// hook is the file of a stage.
func (c config) hook(stage hookfile.Stage) dropin.File {
	file := dropin.File{Path: HookDir + "/" + stage.Name()}
	for _, f := range c.Hooks {
		if f.Path == file.Path {
			file.Text = f.Text
		}
	}
	return file
}

// Read tells what the configuration says.
func Read(in Input) (engine.State, error) {
	c, err := parse(in)
	if err != nil {
		return engine.State{}, err
	}
	s := engine.State{Runtimes: map[string]string{}, CDI: engine.On}
	for _, name := range c.chain.Names(runtimes...) {
		if s.Runtimes[name], _, err = runtimePath(c.chain, name); err != nil {
			return engine.State{}, err
		}
	}
	def, err := c.chain.Text(defaultKey...)
	if err != nil {
		return engine.State{}, err
	}
	dirs, err := c.specDirs(c.chain)
	if err != nil {
		return engine.State{}, err
	}
	if dirs.Set() {
		s.SpecDirs = dirs.Value
	}
	manager, err := c.chain.Text(key("cgroup_manager")...)
	if err != nil {
		return engine.State{}, err
	}
	switch {
	case manager.Value == "systemd":
		s.Systemd = engine.On
	case manager.Set():
		s.Systemd = engine.Off
	}
	s.Default = def.Value
	return s, nil
}

// runtimePath returns the first of a runtime's paths, and the file that has them.
func runtimePath(c dropin.Chain, name string) (path, file string, err error) {
	paths, err := c.Alone(key("runtimes", name)...)
	if err != nil || len(paths.Value) == 0 {
		return "", paths.Path, err
	}
	return paths.Value[0], paths.Path, nil
}

// Remove takes out what Configure puts in.
func Remove(in Input, s engine.Setup) ([]engine.Change, error) {
	c, err := parse(in)
	if err != nil {
		return nil, err
	}
	ours, err := dropin.Read(c.own.File)
	if err != nil {
		return nil, err
	}
	gone := [][]string{defaultKey, dirsKey, hooksKey}
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
	changes := c.own.Change(after)
	for _, stage := range []hookfile.Stage{hookfile.Precreate, hookfile.Prestart} {
		change, err := hookfile.Put(c.hook(stage), nil)
		if err != nil {
			return nil, err
		}
		changes = append(changes, change...)
	}
	return changes, nil
}

// needed fails if Podman would not find its default runtime any more.
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
	return &dropin.NeededError{Runtime: def.Value, Key: "runtime", Path: def.Path}
}
