package main

import (
	"errors"
	"fmt"
	"io/fs"

	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/hook/inroot"
	"github.com/metax-ctk/container-toolkit/internal/hook/link"
	"github.com/metax-ctk/container-toolkit/internal/hook/privilege"
	"github.com/metax-ctk/container-toolkit/internal/wording"
)

// createSymlinks makes links in the container. --link TARGET::PATH is a must: it
// replaces another link, but no file; a library that the image has itself is for
// it to know. --new-link TARGET::PATH is an offer, such as a program's name: it
// replaces nothing, and no container fails for it. Where nobody can write, a
// container starts without either.
var createSymlinks = action{
	options:      []string{"link", "new-link"},
	capabilities: []privilege.Capability{unix.CAP_DAC_OVERRIDE},
	run: func(j *job, options map[string][]string) error {
		links, err := parseLinks(options["link"])
		if err != nil {
			return err
		}
		offers, err := parseLinks(options["new-link"])
		if err != nil {
			return err
		}
		root, err := j.root()
		if err != nil {
			return err
		}
		var unmade, taken omitted
		for _, l := range links {
			switch _, err := l.Make(root); {
			case errors.Is(err, inroot.ErrNotLink):
				j.warn(err.Error())
			case errors.Is(err, unix.EROFS):
				unmade.add(l, err)
			case err != nil:
				return err
			}
		}
		for _, l := range offers {
			switch _, err := l.MakeIfAbsent(root); {
			case errors.Is(err, fs.ErrExist):
				taken.add(l, err)
			case err != nil:
				unmade.add(l, err)
			}
		}
		if len(taken.paths) > 0 {
			j.warn("left as the image has it: " + taken.String())
		}
		if len(unmade.paths) > 0 {
			j.warn(fmt.Sprintf("no link at %s: %v", &unmade, unmade.first))
		}
		return nil
	},
}

func parseLinks(texts []string) ([]link.Link, error) {
	links := make([]link.Link, 0, len(texts))
	for _, text := range texts {
		l, err := link.Parse(text)
		if err != nil {
			return nil, err
		}
		links = append(links, l)
	}
	return links, nil
}

// omitted are links that are not made, for one line about all of them.
type omitted struct {
	paths []string
	first error
}

func (o *omitted) add(l link.Link, err error) {
	if o.paths = append(o.paths, l.Path); o.first == nil {
		o.first = err
	}
}

func (o *omitted) String() string { return wording.Some(o.paths, 4) }
