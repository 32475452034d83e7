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

// prestart gives a container what its annotations ask for, in the stages prestart
// and createRuntime of an engine that knows nothing but OCI hooks: --spec-dir DIR
// names the CDI spec directories, in place of the usual ones. Environment, groups
// and what else is in config.json cannot be given at that stage, and the device
// rules are lost when someone sets them anew (see devcgroup): CDI and the stage
// precreate have neither limit.
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
	if err != nil || oci.Quiet(text) {
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
	wanted, err := wants(edits, config)
	if err != nil || wanted.nothing() {
		return err
	}
	rootfs, err := hook.Rootfs(state.Bundle, config.Rootfs())
	if err != nil {
		return err
	}
	return j.give(state, rootfs, wanted, config)
}

// give brings what is wanted into the container whose process the state names.
func (j *job) give(state *hook.State, rootfs string, wanted *wanted, config *oci.Config) error {
	process, err := mount.OpenProcess(state.Pid)
	if err != nil {
		return err
	}
	defer process.Close()
	taken, err := wanted.take()
	if err != nil {
		return err
	}
	defer taken.close()
	if err := j.mayOpen(taken, process, config.User()); err != nil {
		return err
	}
	err = process.Enter(rootfs, func(c *mount.Container) error {
		for _, g := range taken {
			if err := c.Mount(g.source, g.at); err != nil {
				return err
			}
		}
		if len(wanted.actions) == 0 {
			return nil
		}
		if c.Pivoted() {
			return fmt.Errorf("hooks of the CDI spec, after the container's root is pivoted: %w", errEngine)
		}
		return j.again(state, wanted.actions)
	})
	if err != nil {
		return err
	}
	if len(wanted.missing) > 0 {
		j.warn(fmt.Sprintf("the container lacks the environment %q, which a hook of this stage cannot give: set it with the engine, or use CDI", wanted.missing))
	}
	return allow(process, state.ID, taken.rules())
}

// allow widens the device cgroup. A container that is made in a user namespace,
// without privilege over the machine, has none: nobody there could have set its
// rules.
func allow(process *mount.Process, id string, rules []devcgroup.Rule) error {
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
