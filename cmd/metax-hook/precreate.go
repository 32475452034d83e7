package main

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/hook"
	"github.com/metax-ctk/container-toolkit/internal/hook/privilege"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/oci"
)

// precreate is a stage that some engines have before those of OCI: it reads config.json
// from standard input and writes it to standard output with the edits that its
// annotations request, unchanged byte for byte if they request none. --spec-dir DIR
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

func editConfig(text []byte, dirs []string) ([]byte, error) {
	if oci.NoRequest(text) {
		return text, nil
	}
	config, err := oci.Parse(text)
	if err != nil {
		return nil, err
	}
	edits, err := requested(config, oci.Policy{}, dirs)
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
