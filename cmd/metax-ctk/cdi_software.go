package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/internal/cdi"
	"github.com/metax-ctk/container-toolkit/internal/discover/maca"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"

	specs "tags.cncf.io/container-device-interface/specs-go"
)

// hookName is the program that the hooks of our specs run.
const hookName = "metax-hook"

func hookFlag() cli.Flag {
	return &cli.StringFlag{
		Name: "hook", EnvVars: []string{"METAX_CTK_HOOK"},
		Usage: "`PATH` at which the engine finds metax-hook (default: beside metax-ctk)",
	}
}

// wantedSoftware makes the spec of the host's MXMACA, with a device for each
// version.
func (t toolkit) wantedSoftware(c *cli.Context, host *hostfs.Root, opt cdi.Options) (*specs.Spec, error) {
	if !t.where(c).IsHost() {
		return nil, usagef("the files of node %q are not on this host, so it has no MXMACA to give", t.where(c).Node)
	}
	all, warnings, err := maca.All(host)
	t.warn(warnings...)
	if err != nil {
		return nil, err
	}
	var list []cdi.Software
	for _, found := range all {
		t.warn(found.Warnings...)
		s := cdi.Software{
			Path: maca.Path, Dir: found.Dir, Version: found.Version, Default: found.Default,
			Driver: found.Driver, Libraries: found.Libraries, Programs: found.Programs,
		}
		for _, l := range found.Links {
			s.Links = append(s.Links, cdi.Link(l))
		}
		list = append(list, s)
	}
	for _, s := range cdi.Nameless(list) {
		t.warn(fmt.Sprintf("MXMACA in %s is left out: its version %q does not tell it from the others", s.Dir, s.Version))
	}
	hook, err := hookPath(c.String("hook"))
	if err != nil {
		return nil, err
	}
	if !c.IsSet("hook") && !host.Real() && opt.EngineRoot == "/" && !host.Exists(hook) {
		hook = "" // the engine sees the host's files, among which ours is not
	}
	spec, err := cdi.GenerateSoftware(list, hook, opt)
	if errors.Is(err, cdi.ErrNoHook) {
		return nil, fmt.Errorf("%w: there is no %s beside metax-ctk that the engine would find; install it, or name it: --hook PATH", err, hookName)
	}
	return spec, err
}

// hookPath is the path for a spec: the one given, or else that of the program
// beside this one; empty if there is none.
func hookPath(given string) (string, error) {
	if given != "" {
		if !filepath.IsAbs(given) || filepath.Clean(given) != given {
			return "", usagef("--hook %q is not an absolute path without detours", given)
		}
		return given, nil
	}
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find %s: %w", hookName, err)
	}
	beside := filepath.Join(filepath.Dir(self), hookName)
	if info, err := os.Stat(beside); err != nil || !info.Mode().IsRegular() {
		return "", nil
	}
	return beside, nil
}
