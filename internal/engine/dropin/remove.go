// SPDX-License-Identifier: Apache-2.0

package dropin

import "github.com/metax-ctk/container-toolkit/internal/engine"

// Remove returns the change of the toolkit's file that removes what Configure adds and
// every metax-runtime there, under any name. The error is a *NeededError if the engine
// would then not find its default runtime.
func (c Config) Remove(s engine.Setup) ([]engine.Change, error) {
	d := c.dialect
	ours, err := Read(c.own.File)
	if err != nil {
		return nil, err
	}
	gone := [][]string{d.keyPath(d.Default), d.keyPath(dirsKey), d.keyPath(hooksKey)}
	for _, name := range ours.Names(d.keyPath(runtimesKey)...) {
		path, err := d.Runtime(ours, name)
		if err != nil {
			return nil, err
		}
		if name == s.Name || IsShim(path.Value) {
			gone = append(gone, d.keyPath(runtimesKey, name))
		}
	}
	after, err := c.own.Remove(gone...)
	if err != nil {
		return nil, err
	}
	if err := c.checkDefault(after); err != nil {
		return nil, err
	}
	return engine.Changed(c.own.Path, c.own.Text, after), nil
}

// checkDefault fails if the engine finds its default runtime now, but would not with
// another text for the toolkit's file.
func (c Config) checkDefault(after []byte) error {
	d := c.dialect
	chain, err := c.chainWith(after)
	if err != nil {
		return err
	}
	def, err := chain.Text(d.keyPath(d.Default)...)
	if err != nil || !def.Set() {
		return err
	}
	before, err := d.Runtime(c.chain, def.Value)
	if err != nil {
		return err
	}
	if now, err := d.Runtime(chain, def.Value); err != nil || now.Set() || !before.Set() {
		return err
	}
	return &NeededError{Runtime: def.Value, Key: d.Default, Path: def.Path}
}
