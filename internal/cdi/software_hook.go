package cdi

import (
	"path"
	"slices"
)

// actions is the hook's command line.
func (s Software) actions() []string {
	var links, folders []string
	link := func(option, target, at string) { links = append(links, option, target+"::"+at) }
	if s.Path != s.Dir {
		link("--link", s.Dir, s.Path)
	}
	for _, l := range s.Links {
		link("--link", l.Target, path.Join(LinkDir, l.Name))
	}
	for _, program := range s.programs() {
		link("--new-link", program, path.Join(ProgramDir, path.Base(program)))
	}
	for _, dir := range s.Libraries {
		folders = append(folders, "--folder", dir)
	}
	if len(s.Links) > 0 {
		folders = append(folders, "--folder", LinkDir)
	}
	var args []string
	if len(links) > 0 {
		args = append(append(args, "create-symlinks"), links...)
	}
	if len(folders) > 0 {
		args = append(append(args, "update-ldcache"), folders...)
	}
	return args
}

// programs are those that get a name, each name once.
func (s Software) programs() []string {
	names := slices.Compact(slices.Sorted(slices.Values(s.Programs)))
	names = names[:min(len(names), MaxPrograms)]
	var list []string
	if s.Driver != "" {
		list = append(list, path.Join(s.Driver, "bin", smi))
	}
	for _, name := range names {
		if name != smi || s.Driver == "" {
			list = append(list, path.Join(s.Path, "bin", name))
		}
	}
	return list
}

// smi is the driver's program that everybody asks for.
const smi = "mx-smi"
