// SPDX-License-Identifier: Apache-2.0

// Package devcgroup lets a container that is being made open a few more device nodes.
// It adds exactly the given device numbers to the rules of the container's cgroup, for
// reading and writing but never for mknod. In cgroup version 1 that is a line in
// devices.allow. Version 2 has no such file: there the runtime's rules are an eBPF
// program. It is replaced by one that first allows the new numbers and then continues
// with the old instructions.
//
// The caller is a hook that runs after the runtime has set its rules. The added rules
// are lost when someone sets the rules again: an update of the container's resources
// does so in both versions, and systemd's daemon-reload does where systemd manages the
// cgroup. Devices in the container's config.json, where CDI puts them, are not lost.
//
// When a low-level runtime calls a hook of the stages prestart and createRuntime, the
// following has happened. It is the same for both stages; an end-to-end test checks it
// for cgroups of either version, as root and with a user namespace:
//
//	                             runc 1.1.5, 1.1.15, 1.3.6   crun 1.8.1, 1.21, 1.28
//	the state's status           creating                    created
//	the state's pid              the container's             the container's
//	the hook's mount namespace   the host's                  the host's
//	the working directory        the bundle                  the bundle
//	the container's mounts       made, and nodes in /dev     made, and nodes in /dev
//	its root                     not pivoted                 not pivoted
//	the cgroup's device rules    set, not again afterwards   set, not again afterwards
//	the hook's standard error    shown if it fails           lost (run.oci.hooks.stderr)
//
// This package makes no cgroup, no device node and no rule that denies.
package devcgroup
