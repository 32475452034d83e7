// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/bundle"
	"github.com/metax-ctk/container-toolkit/internal/hook"
	"github.com/metax-ctk/container-toolkit/internal/hook/privilege"
	"github.com/metax-ctk/container-toolkit/internal/oci"
)

// prestart injects what a container's annotations request, in the stages prestart and
// createRuntime of an engine that has only OCI hooks. --spec-dir DIR replaces the
// standard directories of CDI specs. At that stage environment, groups and the rest of
// config.json can no longer change, and the device rules are lost when someone sets
// them again (see devcgroup). CDI and the stage precreate have neither limit.
var prestart = action{
	options: []string{"spec-dir"},
	capabilities: append([]privilege.Capability{
		unix.CAP_SYS_ADMIN, unix.CAP_SYS_CHROOT, unix.CAP_DAC_OVERRIDE, unix.CAP_DAC_READ_SEARCH, unix.CAP_MKNOD,
		unix.CAP_SYS_PTRACE,              // the namespaces of a process that hides from others
		unix.CAP_SETUID, unix.CAP_SETGID, // files as the root of a user namespace
		unix.CAP_SYS_RESOURCE, // kernels that count programs as locked memory
	}, updateLdcache.capabilities...),
	run: runPrestart,
}

func runPrestart(j *job, options map[string][]string) error {
	state, err := j.containerState()
	if err != nil {
		return err
	}
	text, err := hook.ReadConfig(state.Bundle)
	if err != nil || oci.NoRequest(text) {
		return err
	}
	config, err := oci.Parse(text)
	if err != nil {
		return fmt.Errorf("bundle %s: %w", state.Bundle, err)
	}
	edits, err := bundle.Edits(config, oci.Policy{NoMounts: true}, "", deviceResolver(options["spec-dir"]))
	if err != nil || edits == nil {
		return err
	}
	pending, err := bundle.NewPending(edits, config, map[string][]string{
		"create-symlinks": createSymlinks.options, "update-ldcache": updateLdcache.options,
	})
	if err != nil || pending.Empty() {
		return err
	}
	rootfs, err := hook.Rootfs(state.Bundle, config.Rootfs())
	if err != nil {
		return err
	}
	runHooks := func(args []string) error { return j.runSpecHooks(state, args) }
	return pending.Inject(state, rootfs, config.User(), runHooks, j.addWarning)
}
