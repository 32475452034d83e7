package oci

import (
	"errors"
	"fmt"

	"github.com/metax-ctk/container-toolkit/internal/jsontree"
)

// ErrConfig reports a config.json that cannot be understood for sure.
var ErrConfig = errors.New("invalid config.json")

// Config is a parsed config.json.
type Config struct {
	text []byte
	tree *jsontree.Tree // of text; nil after an edit, until somebody asks
}

// Parse reads the text of a config.json, which must not change afterwards. Beside
// what is no JSON, it refuses (ErrConfig) what two readers could read in two
// ways: a key that occurs twice, and a key that differs only in case from one
// that matters here, because runc takes it for that one and crun does not.
func Parse(data []byte) (*Config, error) {
	tree, err := jsontree.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	if err := configShape.check("", tree.Root()); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	return &Config{data, tree}, nil
}

// Bytes is the text with what Apply changed; it is not to be changed.
func (c *Config) Bytes() []byte { return c.text }

func (c *Config) at(names ...string) jsontree.Value { return c.root().At(names...) }

func (c *Config) root() jsontree.Value {
	if c.tree == nil {
		edited, err := Parse(c.text)
		if err != nil {
			panic("an edit of a config.json has spoilt it: " + err.Error())
		}
		c.tree = edited.tree
	}
	return c.tree.Root()
}

// Rootfs is the path of the container's root as it is written, empty if there is
// none; a relative one begins at the bundle.
func (c *Config) Rootfs() string { return c.at("root", "path").Text() }

// User is who the container's process runs as.
type User struct {
	UID, GID       uint32
	AdditionalGIDs []uint32
}

// User returns who the process runs as; root, if it is not said.
func (c *Config) User() User {
	user := c.at("process", "user")
	u := User{UID: id(user.At("uid")), GID: id(user.At("gid"))}
	for gid := range user.At("additionalGids").Elements() {
		u.AdditionalGIDs = append(u.AdditionalGIDs, id(gid))
	}
	return u
}

func id(v jsontree.Value) uint32 {
	n, _ := v.Int() // the shape says that it fits
	return uint32(n)
}

// Env returns the environment of the process, "NAME=value".
func (c *Config) Env() []string { return texts(c.at("process", "env")) }

func texts(list jsontree.Value) []string {
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

// Devices returns the device nodes that the runtime makes.
func (c *Config) Devices() []Device {
	var all []Device
	for v := range c.at("linux", "devices").Elements() {
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

// Mounts returns the mounts that the runtime makes.
func (c *Config) Mounts() []Mount {
	var all []Mount
	for v := range c.at("mounts").Elements() {
		all = append(all, Mount{
			v.At("destination").Text(), v.At("type").Text(), v.At("source").Text(), texts(v.At("options")),
		})
	}
	return all
}
