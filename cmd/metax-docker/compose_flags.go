package main

import (
	"strconv"

	"github.com/metax-ctk/container-toolkit/internal/compose"
	"github.com/metax-ctk/container-toolkit/internal/dockerargs"
)

// command is the line of run that stands for a container of the service. Flags of compose run
// follow those of its service.
func (p *project) command(service string, maca dockerargs.MACA) dockerargs.Command {
	c := p.Container(service)
	flags := dockerargs.Flags{{Name: "pull", Value: c.Pull}}
	if c.Platform != "" {
		flags = append(flags, dockerargs.Flag{Name: "platform", Value: c.Platform})
	}
	for _, at := range c.Mounts {
		flags = append(flags, dockerargs.Flag{Name: "mount", Value: "target=" + at})
	}
	for _, v := range c.Env {
		flags = append(flags, dockerargs.Flag{Name: "env", Value: v})
	}
	for _, f := range p.cmd.Flags {
		ofRun := p.cmd.Verb == "run" && service == p.cmd.Words[0] && (f.Name == "env" || f.Name == "volume")
		if ofRun || (f.Name == "pull" && c.Pull != compose.PullNever) {
			flags = append(flags, f)
		}
	}
	return p.cmd.Run(c.Image, flags, maca)
}

// deviceFlags are the flags of run for what a service says of the host's devices.
func (p *project) deviceFlags(service string) (flags dockerargs.Flags) {
	c := p.Container(service)
	add := func(name string, values ...string) {
		for _, value := range values {
			flags = append(flags, dockerargs.Flag{Name: name, Value: value})
		}
	}
	add("privileged", strconv.FormatBool(c.Privileged))
	add("device", c.Devices...)
	add("device-cgroup-rule", c.Rules...)
	for _, dir := range c.Binds {
		add("volume", dir+":"+dir)
	}
	return flags
}
