package main

import (
	"strconv"

	"github.com/metax-ctk/container-toolkit/internal/compose"
	"github.com/metax-ctk/container-toolkit/internal/config"
	"github.com/metax-ctk/container-toolkit/internal/dockerargs"
	"github.com/metax-ctk/container-toolkit/internal/edits"
)

// composeSoftware returns what gives the host's MXMACA to the services that start, by service.
func (s *session) composeSoftware(p *project) (map[string]edits.Edits, error) {
	found := map[string]edits.Edits{}
	for _, service := range p.starting {
		option := macaOption(p.requests[service].MACA)
		if option.Off || (!option.Given && s.settings.MACA.Default.Text != config.MACAAuto) {
			continue
		}
		e, err := s.softwareEdits(p.command(service, option), service)
		if err != nil {
			return nil, err
		}
		found[service] = e
	}
	return found, nil
}

// macaOption reads the option maca of a service: a boolean or a version.
func macaOption(text string) dockerargs.MACA {
	on, err := strconv.ParseBool(text)
	if err == nil {
		return dockerargs.MACA{Given: on, Off: !on}
	}
	return dockerargs.MACA{Given: text != "", Version: text}
}

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
