// SPDX-License-Identifier: Apache-2.0

package dropin

import "github.com/metax-ctk/container-toolkit/internal/engine"

// Config is the parsed configuration of an engine.
type Config struct {
	dialect Dialect
	base    []File
	dropIns []File
	own     Own
	chain   Chain
}

// Open parses the files of a configuration: base in the order in which the engine
// reads them, then dropIns in any order, the toolkit's own file among them if it is
// there.
func Open(d Dialect, base, dropIns []File) (Config, error) {
	c := Config{dialect: d, base: base, dropIns: dropIns, own: Own{File: File{Path: d.Path}, Engine: d.Engine}}
	for _, f := range dropIns {
		if f.Path == d.Path {
			c.own.Text = f.Text
		}
	}
	var err error
	c.chain, err = c.chainWith(c.own.Text)
	return c, err
}

// chainWith is the chain with another text for the toolkit's file.
func (c Config) chainWith(own []byte) (Chain, error) {
	files := c.base[:len(c.base):len(c.base)]
	return Read(append(files, InOrder(With(c.dropIns, c.own.Path, own))...)...)
}

// State returns what the configuration says, without CDI, which depends on the engine.
func (c Config) State() (engine.State, error) {
	d := c.dialect
	s := engine.State{Runtimes: map[string]string{}}
	for _, name := range c.chain.Names(d.keyPath(runtimesKey)...) {
		path, err := d.Runtime(c.chain, name)
		if err != nil {
			return engine.State{}, err
		}
		s.Runtimes[name] = path.Value
	}
	def, err := c.chain.Text(d.keyPath(d.Default)...)
	if err != nil {
		return engine.State{}, err
	}
	dirs, err := d.specDirs(c.chain)
	if err != nil {
		return engine.State{}, err
	}
	manager, err := c.chain.Text(d.keyPath(managerKey)...)
	if err != nil {
		return engine.State{}, err
	}
	s.Default = def.Value
	if dirs.Set() {
		s.SpecDirs = dirs.Value
	}
	switch {
	case manager.Value == "systemd":
		s.Systemd = engine.On
	case manager.Set():
		s.Systemd = engine.Off
	}
	return s, nil
}
