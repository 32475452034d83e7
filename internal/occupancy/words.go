package occupancy

import (
	"errors"

	"github.com/metax-ctk/container-toolkit/internal/terminal"
)

// short is an ID as engines show it to people.
func short(id string) string {
	if len(id) == 64 {
		return id[:12]
	}
	return id
}

func isAbsent(l Look) bool { return errors.Is(l.Err, ErrAbsent) }

// cleaned returns the sight with what strangers wrote in it fit to be printed and
// kept: the state takes no other text.
func (s Sight) cleaned() Sight {
	for i := range s.Containers {
		c := &s.Containers[i]
		for _, text := range []*string{&c.Namespace, &c.ID, &c.Name, &c.Image, &c.Lease} {
			if !terminal.Clean(*text) {
				*text = terminal.Line(*text)
			}
		}
	}
	for i := range s.Processes {
		if p := &s.Processes[i]; !terminal.Clean(p.Command) {
			p.Command = terminal.Line(p.Command)
		}
	}
	return s
}
