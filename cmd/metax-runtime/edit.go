// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"

	specs "tags.cncf.io/container-device-interface/specs-go"

	"github.com/metax-ctk/container-toolkit/internal/atomicfile"
	"github.com/metax-ctk/container-toolkit/internal/bundle"
	"github.com/metax-ctk/container-toolkit/internal/cdi"
	"github.com/metax-ctk/container-toolkit/internal/config"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/logfile"
	"github.com/metax-ctk/container-toolkit/internal/oci"
)

// editBundle applies the edits that a container's configuration requests.
func editBundle(path string, settings config.Runtime, log *logfile.Log) error {
	file, err := oci.Open(path)
	if err != nil || file.NoRequest() {
		return err
	}
	container, err := file.Config()
	if err != nil {
		return err
	}
	host, err := hostfs.New("/")
	if err != nil {
		return err
	}
	dir := filepath.Dir(path)
	policy := oci.Policy{
		Environment:  settings.AcceptEnvironment || settings.AcceptEnvironmentUnprivileged,
		Unprivileged: settings.AcceptEnvironmentUnprivileged, MACA: settings.MACA,
	}
	edits, err := bundle.Edits(container, policy, dir, func(names []string) (*specs.ContainerEdits, error) {
		if log.On() {
			log.Info("the container requests devices", "bundle", dir, "devices", names, "specs",
				cdi.Sources(host, settings.SpecDirs, names))
		}
		return cdi.Resolve(host, settings.SpecDirs, names)
	})
	if err != nil {
		return err
	}
	if edits == nil {
		if log.On() {
			logIgnored(container, log)
		}
		return nil
	}
	if err := container.Apply(edits, host.Node); err != nil {
		return err
	}
	if err := removeTemporary(path); err != nil {
		return err
	}
	log.Info("the configuration is edited", "config", path, "nodes", len(edits.DeviceNodes), "mounts", len(edits.Mounts),
		"hooks", len(edits.Hooks), "variables", len(edits.Env), "groups", edits.AdditionalGIDs)
	return file.Flush()
}

// logIgnored logs that the container has no request but the variable, which the policy
// ignores.
func logIgnored(container *oci.Config, log *logfile.Log) {
	names, err := container.Request(oci.Policy{Environment: true, Unprivileged: true})
	if err == nil && len(names) > 0 {
		log.Warn(
			"METAX_VISIBLE_DEVICES gives no GPU, because an image can set it: request by annotation or --device, or set runtime.accept-environment", "ignored", names)
	}
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
