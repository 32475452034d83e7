// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"golang.org/x/sys/unix"
	cdispecs "tags.cncf.io/container-device-interface/specs-go"

	"github.com/metax-ctk/container-toolkit/internal/bundle"
	"github.com/metax-ctk/container-toolkit/internal/cdi"
	"github.com/metax-ctk/container-toolkit/internal/hook"
	"github.com/metax-ctk/container-toolkit/internal/hook/privilege"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/oci"
)

// precreate implements the hook stage precreate, which Podman runs before the OCI stages;
// CRI-O does not know it. It reads config.json from standard input and writes it with the
// requested edits to standard output; without a request, unchanged. --spec-dir DIR
// replaces the standard directories of CDI specs.
var precreate = action{
	options:      []string{"spec-dir"},
	capabilities: []privilege.Capability{unix.CAP_DAC_OVERRIDE, unix.CAP_DAC_READ_SEARCH},
	run: func(j *job, options map[string][]string) error {
		text, err := hook.ReadInput(j.in, oci.MaxConfig, hook.ReadTimeout)
		if err != nil {
			return err
		}
		if text, err = editConfig(text, options["spec-dir"]); err != nil {
			return err
		}
		if _, err := j.out.Write(text); err != nil {
			return fmt.Errorf("write config.json: %w", err)
		}
		return nil
	},
}

// editConfig applies the edits that the text's annotations and device-list mounts request.
// The policy is empty: an image can set the environment, and this stage has no setting that
// would accept it.
func editConfig(text []byte, dirs []string) ([]byte, error) {
	if oci.NoRequest(text) {
		return text, nil
	}
	config, err := oci.Parse(text)
	if err != nil {
		return nil, err
	}
	edits, err := bundle.Edits(config, oci.Policy{}, "", deviceResolver(dirs))
	if err != nil {
		return nil, err
	}
	if edits == nil {
		return text, nil
	}
	host, err := hostfs.New("/")
	if err != nil {
		return nil, err
	}
	if err := config.Apply(edits, host.Node); err != nil {
		return nil, err
	}
	return config.Bytes(), nil
}

// deviceResolver returns what resolves CDI devices by the specs in directories of the host;
// without any, in the standard ones.
func deviceResolver(dirs []string) func(names []string) (*cdispecs.ContainerEdits, error) {
	if len(dirs) == 0 {
		dirs = cdi.Dirs()
	}
	return func(names []string) (*cdispecs.ContainerEdits, error) {
		host, err := hostfs.New("/")
		if err != nil {
			return nil, err
		}
		return cdi.Resolve(host, dirs, names)
	}
}
