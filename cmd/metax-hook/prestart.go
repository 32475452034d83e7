package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/moby/sys/userns"
	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/hook"
	"github.com/metax-ctk/container-toolkit/internal/hook/devcgroup"
	"github.com/metax-ctk/container-toolkit/internal/hook/mount"
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
	state, err := j.state()
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
	edits, err := requested(config, oci.Policy{NoMounts: true}, options["spec-dir"])
	if err != nil || edits == nil {
		return err
	}
	pending, err := newPendingEdits(edits, config)
	if err != nil || pending.isEmpty() {
		return err
	}
	rootfs, err := hook.Rootfs(state.Bundle, config.Rootfs())
	if err != nil {
		return err
	}
	return j.inject(state, rootfs, pending, config)
}

// inject opens the pending devices and mounts and mounts them in the container of the
// state's process.
func (j *job) inject(state *hook.State, rootfs string, pending *pendingEdits, config *oci.Config) error {
	process, err := mount.OpenProcess(state.Pid)
	if err != nil {
		return err
	}
	defer process.Close()
	sources, err := pending.openSources()
	if err != nil {
		return err
	}
	defer sources.close()
	if err := j.checkAccess(sources, process, config.User()); err != nil {
		return err
	}
	err = process.Enter(rootfs, func(c *mount.Container) error {
		for _, g := range sources {
			if err := c.Mount(g.source, g.target); err != nil {
				return err
			}
		}
		if len(pending.actions) == 0 {
			return nil
		}
		if c.Pivoted() && pending.offers {
			j.warn("no names for programs, such as mx-smi: the container's root is already pivoted")
			return nil
		}
		if c.Pivoted() {
			return fmt.Errorf("hooks of the CDI spec, after the container's root is pivoted: %w", errEngine)
		}
		return j.runSpecHooks(state, pending.actions)
	})
	if err != nil {
		return err
	}
	if len(pending.missing) > 0 {
		j.warn(fmt.Sprintf("the container lacks the variables %q: a hook of this stage cannot set them; use CDI, metax-runtime, a precreate hook or --env", pending.missing))
	}
	return allowDevices(process, state.ID, sources.rules())
}

// allowDevices widens the container's device cgroup. A container that is made in a user
// namespace, without privilege over the machine, has none: nobody there could have set
// its rules.
func allowDevices(process *mount.Process, id string, rules []devcgroup.Rule) error {
	if userns.RunningInUserNS() {
		return nil
	}
	cgroup, err := process.Cgroup()
	if err != nil {
		return err
	}
	self, err1 := os.ReadFile("/proc/self/cgroup")
	mounts, err2 := os.Open("/proc/self/mountinfo")
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	defer mounts.Close()
	groups, err := devcgroup.Find(devcgroup.Process(cgroup), devcgroup.Process(self), id, mounts)
	if err != nil {
		return err
	}
	for _, g := range groups {
		if err := g.Allow(rules); err != nil {
			return err
		}
	}
	return nil
}
