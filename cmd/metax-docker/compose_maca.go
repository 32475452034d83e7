package main

import (
	"strconv"

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
