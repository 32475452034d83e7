// SPDX-License-Identifier: Apache-2.0

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

// createSymlinks makes links in the container. --link TARGET::PATH is required: it
// replaces another link, but not a file, which may be the image's own library.
// --new-link TARGET::PATH is optional, such as for a program's name: it replaces
// nothing, and never fails the container. If the files are read-only, the container
// starts without both.
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
		root, err := j.containerRoot()
		if err != nil && len(links) == 0 && len(offers) > 0 {
			j.addWarning(fmt.Sprintf("no link at %s: %v", listed(offers), err))
			return nil
		} else if err != nil {
			return err
		}
		var unmade, taken linkList
		for _, l := range links {
			_, err := l.Make(root)
			switch {
			case errors.Is(err, inroot.ErrNotLink):
				j.addWarning(err.Error())
			case errors.Is(err, unix.EROFS):
				unmade.add(l, err)
			case err != nil:
				return err
			}
		}
		for _, l := range offers {
			_, err := l.MakeIfAbsent(root)
			switch {
			case errors.Is(err, fs.ErrExist):
				taken.add(l, err)
			case err != nil:
				unmade.add(l, err)
			}
		}
		if len(taken.paths) > 0 {
			j.addWarning("links not made, because the image has its own files there: " + taken.String())
		}
		if len(unmade.paths) > 0 {
			j.addWarning(fmt.Sprintf("no link at %s: %v", &unmade, unmade.first))
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

// linkList collects links that were not made, for one warning about all.
type linkList struct {
	paths []string
	first error
}

func (o *linkList) add(l link.Link, err error) {
	o.paths = append(o.paths, l.Path)
	if o.first == nil {
		o.first = err
	}
}

// listed names the paths of links.
func listed(links []link.Link) string {
	var o linkList
	for _, l := range links {
		o.add(l, nil)
	}
	return o.String()
}

func (o *linkList) String() string { return wording.Some(o.paths, 4) }
