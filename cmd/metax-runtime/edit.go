package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/metax-ctk/container-toolkit/internal/atomicfile"
	"github.com/metax-ctk/container-toolkit/internal/cdi"
	"github.com/metax-ctk/container-toolkit/internal/config"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/oci"
)

// editBundle applies the edits that a container's configuration requests.
func editBundle(path string, settings config.Runtime) error {
	bundle, err := oci.Open(path)
	if err != nil || bundle.NoRequest() {
		return err
	}
	container, err := bundle.Config()
	if err != nil {
		return err
	}
	names, err := container.Request(oci.Policy{
		Environment:  settings.AcceptEnvironment || settings.AcceptEnvironmentUnprivileged,
		Unprivileged: settings.AcceptEnvironmentUnprivileged,
	})
	if err != nil || len(names) == 0 {
		return err
	}
	host, err := hostfs.New("/")
	if err != nil {
		return err
	}
	edits, err := cdi.Resolve(host, settings.SpecDirs, names)
	if err != nil {
		return err
	}
	if err := container.Apply(edits, host.Node); err != nil {
		return err
	}
	if err := removeTemporary(path); err != nil {
		return err
	}
	return bundle.Flush()
}

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
