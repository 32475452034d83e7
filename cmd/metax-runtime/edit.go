package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	specs "tags.cncf.io/container-device-interface/specs-go"

	"github.com/metax-ctk/container-toolkit/internal/atomicfile"
	"github.com/metax-ctk/container-toolkit/internal/cdi"
	"github.com/metax-ctk/container-toolkit/internal/config"
	"github.com/metax-ctk/container-toolkit/internal/hook"
	"github.com/metax-ctk/container-toolkit/internal/hook/inroot"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/logfile"
	"github.com/metax-ctk/container-toolkit/internal/oci"
)

// editBundle applies the edits that a container's configuration requests.
func editBundle(path string, settings config.Runtime, log *logfile.Log) error {
	bundle, err := oci.Open(path)
	if err != nil || bundle.NoRequest() {
		return err
	}
	container, err := bundle.Config()
	if err != nil {
		return err
	}
	host, err := hostfs.New("/")
	if err != nil {
		return err
	}
	edits, err := requested(host, filepath.Dir(path), container, settings, log)
	if err != nil || edits == nil {
		return err
	}
	if err := container.Apply(edits, host.Node); err != nil {
		return err
	}
	if err := removeTemporary(path); err != nil {
		return err
	}
	log.Info("the configuration is edited", "config", path, "nodes", len(edits.DeviceNodes), "mounts", len(edits.Mounts),
		"hooks", len(edits.Hooks), "variables", len(edits.Env), "groups", edits.AdditionalGIDs)
	return bundle.Flush()
}

// requested returns the edits that a container requests, and those that the configuration
// adds; nil if it requests none.
func requested(host *hostfs.Root, bundle string, container *oci.Config, settings config.Runtime, log *logfile.Log) (*specs.ContainerEdits, error) {
	resolve := func(names []string) (*specs.ContainerEdits, error) {
		if log.On() {
			log.Info("the container requests devices", "bundle", bundle, "devices", names, "specs", cdi.Sources(host, settings.SpecDirs, names))
		}
		return cdi.Resolve(host, settings.SpecDirs, names)
	}
	policy := oci.Policy{
		Environment:  settings.AcceptEnvironment || settings.AcceptEnvironmentUnprivileged,
		Unprivileged: settings.AcceptEnvironmentUnprivileged,
	}
	names, err := container.Request(policy)
	if err != nil || len(names) == 0 {
		return nil, err
	}
	policy.MACA = settings.MACA
	if all, err := container.Request(policy); err == nil && len(all) > len(names) && !hasMACA(bundle, container) {
		edits, err := resolve(all)
		missing := (*cdi.UnresolvedError)(nil)
		if !errors.As(err, &missing) || !slices.Equal(missing.Names, []string{oci.DefaultMACA}) {
			return edits, err
		}
		// The host has no MXMACA to give.
	}
	return resolve(names)
}

// hasMACA reports whether a container has something in the place of MXMACA, from its image
// or by a mount, or whether that cannot be found out.
func hasMACA(bundle string, container *oci.Config) bool {
	for _, m := range container.Mounts() {
		if at := filepath.Clean(m.Destination); at == maca || strings.HasPrefix(at, maca+"/") {
			return true
		}
	}
	path, err := hook.Rootfs(bundle, container.Rootfs())
	if err != nil {
		return true
	}
	root, err := inroot.Open(path)
	if err != nil {
		return true
	}
	defer root.Close()
	places := []string{maca}
	for _, v := range container.Env() {
		if at, ok := strings.CutPrefix(v, "MACA_PATH="); ok && filepath.IsAbs(at) {
			places = append(places, at)
		}
	}
	return slices.ContainsFunc(places, func(at string) bool {
		_, err := root.Stat(at)
		return !errors.Is(err, fs.ErrNotExist)
	})
}

// maca is where programs look for MXMACA.
const maca = "/opt/maca"

// removeTemporary removes files that a killed edit left beside the configuration.
func removeTemporary(path string) error {
	dir, name := filepath.Split(path)
	entries, err := os.ReadDir(dir + ".")
	if err != nil {
		return fmt.Errorf("list the bundle: %w", err)
	}
	for _, e := range entries {
		if atomicfile.IsTemporary(e.Name(), name) && e.Type().IsRegular() {
			if err := os.Remove(dir + e.Name()); err != nil {
				return fmt.Errorf("clean the bundle: %w", err)
			}
		}
	}
	return nil
}
