package main

import (
	"errors"

	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/hook/inroot"
	"github.com/metax-ctk/container-toolkit/internal/hook/link"
	"github.com/metax-ctk/container-toolkit/internal/hook/privilege"
)

// createSymlinks makes links in the container: --link TARGET::PATH. The image's
// own files are not replaced; a library that it has itself is for it to know.
var createSymlinks = action{
	options:      []string{"link"},
	capabilities: []privilege.Capability{unix.CAP_DAC_OVERRIDE},
	run: func(j *job, options map[string][]string) error {
		links := make([]link.Link, 0, len(options["link"]))
		for _, text := range options["link"] {
			l, err := link.Parse(text)
			if err != nil {
				return err
			}
			links = append(links, l)
		}
		root, err := j.root()
		if err != nil {
			return err
		}
		for _, l := range links {
			if _, err := l.Make(root); errors.Is(err, inroot.ErrNotLink) {
				j.warn(err.Error())
			} else if err != nil {
				return err
			}
		}
		return nil
	},
}
