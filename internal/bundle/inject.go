// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"errors"
	"fmt"
	"os"

	"github.com/moby/sys/userns"

	"github.com/metax-ctk/container-toolkit/internal/hook"
	"github.com/metax-ctk/container-toolkit/internal/hook/devcgroup"
	"github.com/metax-ctk/container-toolkit/internal/hook/mount"
	"github.com/metax-ctk/container-toolkit/internal/oci"
)

// Inject opens the pending devices and mounts, and mounts them below the container's rootfs in
// the namespace of the state's process. RunHooks runs metax-hook there, with these arguments.
func (p *Pending) Inject(state *hook.State, rootfs string, user oci.User, runHooks func(args []string) error,
	warn func(string),
) error {
	process, err := mount.OpenProcess(state.Pid)
	if err != nil {
		return err
	}
	defer process.Close()
	sources, err := p.openSources()
	if err != nil {
		return err
	}
	defer sources.close()
	if err := sources.checkAccess(process, user, warn); err != nil {
		return err
	}
	err = process.Enter(rootfs, func(c *mount.Container) error {
		for _, g := range sources {
			if err := c.Mount(g.source, g.target); err != nil {
				return err
			}
		}
		if len(p.actions) == 0 {
			return nil
		}
		if c.Pivoted() && p.optional {
			warn("no names for programs, such as mx-smi: the container's root is already pivoted")
			return nil
		}
		if c.Pivoted() {
			return fmt.Errorf("hooks of the CDI spec, after the container's root is pivoted: %w", errEngine)
		}
		return runHooks(p.actions)
	})
	if err != nil {
		return err
	}
	if len(p.missing) > 0 {
		warn(fmt.Sprintf(
			"the container lacks the variables %q: a hook of this stage cannot set them; use CDI, metax-runtime, a precreate hook or --env", p.missing))
	}
	return allowDevices(process, state.ID, sources.deviceRules())
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
