// SPDX-License-Identifier: Apache-2.0

package compose

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Container is what containers of a service are made of, besides devices.
type Container struct {
	// Image is the service's image; for one that compose builds without a name, the name
	// that compose gives it.
	Image    string
	Platform string // empty for the daemon's own
	// Pull is the policy for pulling the image: that of the service, or PullNever for one
	// that compose builds.
	Pull string
	// Mounts are the places in the container where something is mounted.
	Mounts []string
	// Privileged, Devices, Rules and Binds are what may open devices of the host or show them:
	// paths of devices, rules of the device cgroup, and directories that are mounted.
	Privileged            bool
	Devices, Rules, Binds []string
	// Env are variables, "NAME=value", or "NAME" for one of the image that is removed;
	// ascending.
	Env []string
}

// PullNever is the policy not to pull an image.
const PullNever = "never"

// Container returns what a container of the service is made of.
func (p *Project) Container(name string) Container {
	service := p.services[name]
	text := func(key string) string {
		value, _ := service[key].(string)
		return unescape(value)
	}
	c := Container{Image: text("image"), Platform: text("platform"), Pull: text("pull_policy")}
	if c.Image == "" {
		c.Image = p.Name + "-" + name
	}
	if service["build"] != nil || c.Pull == "build" {
		c.Pull = PullNever
	}
	c.Privileged, _ = service["privileged"].(bool)
	for _, value := range listAt(service, "devices") {
		path, ok := value.(string)
		if !ok {
			path, _ = toObject(value)["source"].(string)
		}
		c.Devices = append(c.Devices, unescape(path))
	}
	for _, value := range listAt(service, "device_cgroup_rules") {
		c.Rules = append(c.Rules, fmt.Sprint(value))
	}
	for _, value := range listAt(service, "volumes") {
		if source, ok := toObject(value)["source"].(string); ok && toObject(value)["type"] == "bind" {
			c.Binds = append(c.Binds, unescape(source))
		}
		if target, ok := toObject(value)["target"].(string); ok {
			c.Mounts = append(c.Mounts, unescape(target))
		}
	}
	for _, value := range listAt(service, "tmpfs") {
		if text, ok := value.(string); ok {
			at, _, _ := strings.Cut(unescape(text), ":")
			c.Mounts = append(c.Mounts, at)
		}
	}
	env := toObject(service["environment"])
	for _, name := range slices.Sorted(maps.Keys(env)) {
		if env[name] == nil {
			c.Env = append(c.Env, name)
			continue
		}
		c.Env = append(c.Env, name+"="+unescape(fmt.Sprint(env[name])))
	}
	return c
}

// unescape reads a text as compose prints it: with "$$" for "$".
func unescape(text string) string { return strings.ReplaceAll(text, "$$", "$") }

// escapeDollars is the opposite of unescape, for a project that compose reads again.
func escapeDollars(text string) string { return strings.ReplaceAll(text, "$", "$$") }
