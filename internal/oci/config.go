// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"errors"
	"fmt"

	"github.com/metax-ctk/container-toolkit/internal/jsontree"
)

// ErrConfig reports a config.json that is invalid or ambiguous.
var ErrConfig = errors.New("invalid config.json")

// Config is a parsed config.json.
type Config struct {
	text []byte
	tree *jsontree.Tree // of text; nil after an edit, until it is needed
}

// Parse parses the text of a config.json, which must not change afterwards. It fails
// with ErrConfig for invalid JSON, and for texts that two parsers may understand
// differently: with a duplicate key, or with a key that differs only in case from a
// known one, because runc accepts it as the known one and crun does not.
func Parse(data []byte) (*Config, error) {
	tree, err := jsontree.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	if err := configShape.checkValue("", tree.Root()); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	return &Config{data, tree}, nil
}

// Bytes is the text with the changes of Apply; the caller must not change it.
func (c *Config) Bytes() []byte { return c.text }

func (c *Config) valueAt(names ...string) jsontree.Value { return c.rootValue().At(names...) }

func (c *Config) rootValue() jsontree.Value {
	if c.tree == nil {
		edited, err := Parse(c.text)
		if err != nil {
			panic("an edit made config.json invalid: " + err.Error())
		}
		c.tree = edited.tree
	}
	return c.tree.Root()
}

// Rootfs is the path of the container's root file system as written; empty if there is
// none. A relative path is relative to the bundle.
func (c *Config) Rootfs() string { return c.valueAt("root", "path").Text() }

// User is the user of the container's process.
type User struct {
	UID, GID       uint32
	AdditionalGIDs []uint32
}

// User returns the user of the process; root if it is not stated.
func (c *Config) User() User {
	user := c.valueAt("process", "user")
	u := User{UID: numericID(user.At("uid")), GID: numericID(user.At("gid"))}
	for gid := range user.At("additionalGids").Elements() {
		u.AdditionalGIDs = append(u.AdditionalGIDs, numericID(gid))
	}
	return u
}

func numericID(v jsontree.Value) uint32 {
	n, _ := v.Int() // configShape ensures that it is valid
	return uint32(n)
}

// Env returns the environment of the process, "NAME=value".
func (c *Config) Env() []string { return stringsOf(c.valueAt("process", "env")) }

func stringsOf(list jsontree.Value) []string {
	var all []string
	for v := range list.Elements() {
		all = append(all, v.Text())
	}
	return all
}

// Device is an entry of linux.devices.
type Device struct {
	Path, Type   string
	Major, Minor int64
}

// Devices returns the device nodes that the runtime creates.
func (c *Config) Devices() []Device {
	var all []Device
	for v := range c.valueAt("linux", "devices").Elements() {
		d := Device{Path: v.At("path").Text(), Type: v.At("type").Text()}
		d.Major, _ = v.At("major").Int()
		d.Minor, _ = v.At("minor").Int()
		all = append(all, d)
	}
	return all
}

// Mount is an entry of mounts.
type Mount struct {
	Destination, Type, Source string
	Options                   []string
}

// Mounts returns the mounts that the runtime creates.
func (c *Config) Mounts() []Mount {
	var all []Mount
	for v := range c.valueAt("mounts").Elements() {
		all = append(all, Mount{
			Destination: v.At("destination").Text(), Type: v.At("type").Text(), Source: v.At("source").Text(),
			Options: stringsOf(v.At("options")),
		})
	}
	return all
}
