// Package devcgroup lets a container that is being made open a few more device
// nodes: it widens the device rules of the container's cgroup for exactly the
// numbers that it is given, for reading and writing and never for mknod. In
// version 1 that is a line in devices.allow. Version 2 has no such file: there
// the runtime's rules are an eBPF program, which is replaced by one that first
// allows the new numbers and then goes on as before.
//
// It is for a hook that runs after the runtime has set its rules. What it has
// widened is lost when someone sets them anew: an update of the container's
// resources does so in both versions, and systemd's daemon-reload where systemd
// manages the cgroup. Devices that stand in the container's config.json, as CDI
// puts them, have no such limit.
//
// What has happened when a low-level runtime calls a hook of the stages prestart
// and createRuntime, the same in both, as an end-to-end test holds for cgroups of
// either version, as root and with a user namespace:
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
// Nothing here makes a cgroup, a device node or a rule that denies.
package devcgroup
