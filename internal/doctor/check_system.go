// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/cdi"
	"github.com/metax-ctk/container-toolkit/internal/compat"
	"github.com/metax-ctk/container-toolkit/internal/dockerargs"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/lease"
	"github.com/metax-ctk/container-toolkit/internal/ps"
	"github.com/metax-ctk/container-toolkit/internal/usage"
	"github.com/metax-ctk/container-toolkit/internal/wording"
)

// maxOpenFiles is the limit above which programs that close all possible files at their
// start take seconds.
const maxOpenFiles = 1 << 24

var systemChecks = []Check{
	{
		ID: "kernel", Title: "the kernel can do what metax-hook needs", applies: (*Facts).isThisMachine,
		run: func(f *Facts, found *findings) {
			if lacks := f.System.MissingCalls; len(lacks) > 0 {
				found.add(Info, fmt.Sprintf("the kernel, %s, lacks system calls that Linux 5.12 has: %s", f.System.Kernel,
					strings.Join(lacks, ", ")),
					"containers start as with them, unless a mount hides another, or a prestart hook runs after pivot_root (not with runc or crun) or on cgroup v2 before Linux 5.6",
					"# nothing to do unless a start fails; see docs/platforms.md")
			}
		},
	},
	checkEach("open-files", "the limit of open files in containers is not too high",
		func(f *Facts) bool { return len(f.System.Limits) > 0 }, func(f *Facts) []string {
			return sortedKeys(
				f.System.Limits)
		}, func(f *Facts, program string, found *findings) {
			if open := f.System.Limits[program]; open > maxOpenFiles {
				unit := strings.Replace(program, "dockerd", "docker", 1)
				found.add(Warning, fmt.Sprintf("%s and its containers may open %d files", program, open),
					"programs that close every possible file when they start take seconds or minutes",
					fmt.Sprintf(
						`d=/etc/systemd/system/%s.service.d; mkdir -p $d && printf '[Service]\nLimitNOFILE=1048576\n' > $d/limit.conf && systemctl daemon-reload && systemctl restart %[1]s`, unit))
			}
		}),
	{
		ID: "proc", Title: "/proc shows the processes of all users",
		applies: ifCollected("the system", (*Facts).isThisMachine), run: func(f *Facts, found *findings) {
			if f.System.HidePID && f.Asker.UID != 0 {
				found.add(Info, "/proc shows you only your own processes (hidepid)",
					"a GPU shown as free may be in use by another user's process", "sudo "+f.ctkCommand("ps"))
			}
		},
	},
	{
		ID: "refresh-unit", Title: "the CDI spec is written at boot",
		applies: func(f *Facts) bool { return f.Kernel.Systemd && len(f.Kernel.GPUs) > 0 }, run: func(f *Facts,
			found *findings,
		) {
			u := f.System.Unit
			switch {
			case !f.Kernel.Systemd || len(f.Kernel.GPUs) == 0, !u.Installed && f.hasSpecIn([]string{cdi.StaticDir}):
				// nothing has to write it at boot
			case !u.Installed:
				found.add(Warning, refreshUnit+" is not installed",
					"nothing writes the CDI spec after a boot, a new driver or a new card",
					"# install the toolkit's package, then: systemctl enable --now "+refreshUnit)
			case !u.Enabled:
				found.add(Warning, refreshUnit+" is not enabled", "nothing writes the CDI spec after a boot",
					"systemctl enable --now "+refreshUnit)
			case u.Result != "" && u.Result != "success":
				found.add(Warning, fmt.Sprintf("%s has failed: %s", refreshUnit, u.Result), "the CDI spec may be out of date",
					"journalctl -u "+refreshUnit+" && systemctl restart "+refreshUnit)
			}
		},
	},
}

var userChecks = []Check{
	firstOf("user-nodes", "you may open the GPUs", func(f *Facts) bool { return f.isThisMachine() && f.hasDevices() },
		(*Facts).restrictedNodes, func(f *Facts, n DeviceNode, found *findings) {
			if f.Asker.UID == 0 || n.Device.GID == 0 || n.Device.Perm&0o060 != 0o060 ||
				slices.Contains(f.Asker.Groups, int(n.Device.GID)) {
				return
			}
			group := cmp.Or(f.System.Groups[n.Device.GID], fmt.Sprint(n.Device.GID))
			s := Warning
			if f.Engines.Docker.Open && !f.Engines.Podman.There() {
				s = Info // docker's daemon opens them
			}
			found.add(s, fmt.Sprintf("you (%s) are not in the group %s, which may open %s", f.Asker.Name, group, n.Path),
				"your programs and rootless containers cannot use the GPU",
				fmt.Sprintf("sudo usermod -aG %s %s   # then log in again", group, f.Asker.Name))
		}),
	{ID: "user-docker", Title: "you may talk to docker", applies: func(f *Facts) bool {
		return f.isThisMachine() &&
			f.Engines.Docker.Socket
	}, run: func(f *Facts, found *findings) {
		if d := f.Engines.Docker; f.Asker.UID == 0 || !d.Socket || d.Open {
			return
		}
		found.add(Error, fmt.Sprintf("you (%s) may not talk to the docker daemon: permission denied", f.Asker.Name),
			"metax-docker and docker fail; members of docker's group can become root",
			fmt.Sprintf("sudo usermod -aG docker %s   # then log in again; or without the group: sudo metax-docker run …",
				f.Asker.Name))
	}},
	{
		ID: "user-subids", Title: "you have ids for rootless containers", applies: (*Facts).hasRootlessPodman,
		run: func(f *Facts, found *findings) {
			if f.Asker.UID != 0 && !f.System.SubIDs && f.Engines.Podman.There() {
				found.add(Warning, fmt.Sprintf("you (%s) have no ids in /etc/subuid and /etc/subgid", f.Asker.Name),
					"rootless containers cannot have other users than root",
					fmt.Sprintf("sudo usermod --add-subuids 100000-165535 --add-subgids 100000-165535 %s", f.Asker.Name))
			}
		},
	},
	firstOf("rootless-groups", "rootless containers keep the group of the GPUs",
		func(f *Facts) bool {
			return f.hasRootlessPodman() &&
				f.hasDevices()
		}, (*Facts).restrictedNodes, func(f *Facts, n DeviceNode, found *findings) {
			rootless := (f.Asker.UID != 0 && f.Engines.Podman.There()) || f.Engines.Docker.Info.Rootless()
			if rootless && n.Device.GID != 0 && (f.Asker.UID == 0 || slices.Contains(f.Asker.Groups, int(n.Device.GID))) {
				found.add(Info, fmt.Sprintf("the group of %s has no id in a user namespace", n.Path),
					"a rootless container opens the GPU only if it keeps your groups",
					"podman run --group-add keep-groups --device metax-tech.com/gpu=0 …")
			}
		}),
}

var securityChecks = []Check{
	{
		ID: "selinux", Title: "SELinux lets containers use the GPUs",
		applies: func(f *Facts) bool { return f.System.Enforcing && f.hasEngine() }, run: func(f *Facts, found *findings) {
			if !f.System.Enforcing || len(f.Engines.allInstalled()) == 0 {
				return
			}
			off := slices.DeleteFunc(sortedKeys(f.System.Booleans), func(name string) bool { return f.System.Booleans[name] })
			if len(off) == 0 {
				return
			}
			what := "SELinux is enforcing, and " + strings.Join(off, " and ") + " is off"
			for _, n := range f.Kernel.Nodes {
				if n.Path == "/dev/mxcd" && n.Type != "" {
					what += ": " + n.Path + " is a " + n.Type
				}
			}
			found.add(Warning, what, "a container gets the device node but may not open it", "setsebool -P "+
				strings.Join(off, "=1 ")+"=1")
		},
	},
	{ID: "denials", Title: "no program was denied a GPU", applies: ifCollected("the system",
		func(f *Facts) bool { return !f.isSnapshot() }), run: func(f *Facts, found *findings) {
		seen := map[string]bool{}
		for _, d := range f.System.Denials {
			if seen[d.Module] || !f.logNamesGPU(d.Line) {
				continue
			}
			seen[d.Module] = true
			fix := "aa-status   # then: aa-complain PROFILE, the one in the log line"
			if d.Module == "SELinux" {
				fix = "setsebool -P container_use_devices=1"
			}
			found.add(Warning, fmt.Sprintf("%s denied access to a GPU (%s): %.200s", d.Module, f.localPath(d.File), d.Line),
				"the program that the line names could not use it", fix)
		}
	}},
}

// logNamesGPU reports whether a line of a log names a GPU's node or one of our
// programs.
func (f *Facts) logNamesGPU(line string) bool {
	return strings.Contains(line, "metax-") || slices.ContainsFunc(f.Kernel.Nodes, func(n DeviceNode) bool {
		return strings.Contains(line, `name="`+n.Path+`"`) || strings.Contains(line, `name="`+path.Base(n.Path)+`"`)
	})
}

var programChecks = []Check{
	{
		ID: "programs", Title: "the toolkit's programs are all installed", applies: (*Facts).isThisMachine,
		run: func(f *Facts, found *findings) {
			if len(f.Programs.Missing) > 0 {
				found.add(Warning, shortList(f.Programs.Missing)+": not beside metax-ctk in "+f.Programs.Dir,
					"this does not work: "+purposes(f.Programs.Missing),
					"# reinstall the toolkit's package (from source: make install)")
			}
		},
	},
	{
		ID: "programs-trust", Title: "only root can change the toolkit's programs", applies: (*Facts).isThisMachine,
		run: func(f *Facts, found *findings) {
			seen := map[string]bool{}
			for _, u := range f.Programs.Unsafe {
				if seen[u.Culprit] {
					continue
				}
				seen[u.Culprit] = true
				fix := fmt.Sprintf("chown root:root %s && chmod 0755 %s", u.Culprit, u.Culprit)
				if u.Sticky {
					fix = "# move the toolkit's programs to a directory that only root can write (from source: make install)"
				}
				found.add(Error, u.Path+": "+u.Why, "root runs it, in the start of containers", fix)
			}
		},
	},
	firstOf("programs-version", "the toolkit's programs are of one version", (*Facts).isThisMachine,
		func(f *Facts) []string { return sortedKeys(f.Programs.Versions) }, func(f *Facts, name string, found *findings) {
			found.add(Warning,
				fmt.Sprintf("%s has version %q, metax-ctk has %s", name, f.Programs.Versions[name], f.Programs.Version),
				"an upgrade is incomplete: a spec may use what the other program lacks",
				"# reinstall the toolkit's package (from source: make install)")
		}),
	{
		ID: "wrapper", Title: "metax-docker is the toolkit's", applies: (*Facts).isThisMachine,
		run: func(f *Facts, found *findings) {
			if f.Programs.Foreign != "" {
				found.add(Warning, fmt.Sprintf("%s comes before %s on PATH", f.Programs.Foreign,
					path.Join(f.Programs.Dir, wrapper)), "users run another program called metax-docker, which takes no leases",
					fmt.Sprintf("export PATH=%s:$PATH", f.Programs.Dir))
			}
		},
	},
	{
		ID: "config", Title: "the toolkit's configuration can be used",
		applies: ifCollected("programs", (*Facts).isThisMachine), run: func(f *Facts, found *findings) {
			if f.Programs.Config != "" {
				found.add(Error, f.Programs.Config, "no command of the toolkit works, and the runtime starts no container",
					"# edit "+f.localPath(f.Programs.ConfigPath)+", then: "+f.ctkCommand("config", "validate"))
			}
		},
	},
	{ID: "config-mode", Title: "only root can change the toolkit's configuration", applies: ifCollected("programs",
		func(f *Facts) bool { return !f.isSnapshot() }), run: func(f *Facts, found *findings) {
		if f.Programs.ConfigMode == "" {
			return
		}
		at := f.localPath(f.Programs.ConfigPath)
		found.add(Error, fmt.Sprintf("users other than root may change %s (mode %s)", at, f.Programs.ConfigMode),
			"it names programs that root runs", fmt.Sprintf("chown root:root %s && chmod 0644 %s", at, at))
	}},
}

// purposes are what programs are for.
func purposes(names []string) string {
	purpose := map[string]string{
		"metax-docker": "docker run --gpus", "metax-hook": "the host's MXMACA in containers",
		"metax-mxsml":   "asking libmxsml",
		"metax-runtime": "engines without CDI",
	}
	return strings.Join(
		namesWhere(names, func(string) bool { return true }, func(name string) string { return purpose[name] }), ", ")
}

var leaseChecks = []Check{
	{
		ID: "lease-state", Title: "the leases can be read", applies: (*Facts).hasLeases,
		run: func(f *Facts, found *findings) {
			if l := f.Leases; l.Err != "" {
				found.add(Error, l.Err, "metax-docker --gpus fails, to avoid assigning a GPU twice",
					cmp.Or(l.Fix, f.ctkCommand("lease", "init")))
			}
		},
	},
	{
		ID: "lease-lost", Title: "the file of leases is intact", applies: (*Facts).hasLeases,
		run: func(f *Facts, found *findings) {
			if f.Leases.State.Lost != "" {
				found.addSafe(Warning, "the file of leases is damaged: "+f.Leases.State.Lost, lease.Rebuilt,
					f.toolkitStep("lease", "gc"))
			}
		},
	},
	{
		ID: "lease-over", Title: "no lease outlives its container", applies: (*Facts).hasLeases,
		run: func(f *Facts, found *findings) {
			if len(f.Leases.Closed) == 0 {
				return
			}
			what := fmt.Sprintf("lease %s is over: %s", f.Leases.Closed[0].Lease.ID, f.Leases.Closed[0].Why)
			if n := len(f.Leases.Closed); n > 1 {
				what += "; and " + wording.Count(n-1, "more lease")
			}
			found.addSafe(Info, what, "it reserves no GPU any more; the next command that takes a lease removes it",
				f.toolkitStep("lease", "gc"))
		},
	},
	{ID: "lease-dir", Title: "users of docker can take leases", applies: func(f *Facts) bool {
		return f.hasLeases() &&
			f.Leases.Shared && len(f.Kernel.GPUs) > 0
	}, run: func(f *Facts, found *findings) {
		if f.Leases.Dir == "" || f.Leases.Present || f.Leases.Err != "" || !f.Leases.Shared || len(f.Kernel.GPUs) == 0 {
			return
		}
		found.addSafe(Warning, f.localPath(f.Leases.Dir)+" is missing",
			"metax-docker --gpus fails for members of docker's group until root creates it (needed after each boot)", f.toolkitStep("lease", "init"))
	}},
	{
		ID: "lease-gone", Title: "no lease is for a missing GPU",
		applies: func(f *Facts) bool { return f.hasLeases() && f.Node.Known }, run: func(f *Facts, found *findings) {
			if !f.Node.Known {
				return
			}
			for _, l := range f.Leases.State.Leases {
				for _, bdf := range l.GPUs {
					if _, there := f.Node.Lookup(bdf); !there {
						found.add(Warning, fmt.Sprintf("lease %s is for GPU %s, which is missing", l.ID, bdf),
							"its container computes on fewer GPUs, or hangs", "# stop its container first, then:\n"+
								f.ctkCommand("lease", "release", l.ID, "--force"))
						return
					}
				}
			}
		},
	},
	checkEach("container-moved", "containers have the GPUs that they were made for", func(f *Facts) bool {
		return len(
			f.Leases.Looks) > 0 && f.Node.Known
	}, (*Facts).listedContainers, func(f *Facts, c usage.Container, found *findings) {
		var moved *usage.MovedError
		if !errors.As(c.CheckGiven(f.Node.Node), &moved) {
			return
		}
		name, id := cmp.Or(c.Name, usage.ShortID(c.ID)), moved.GPU
		severity, effect := Warning, "plain "+c.Engine+" start gives it GPUs that others may use; metax-docker start refuses"
		if c.Holds() {
			severity, effect = Error, "it computes on GPUs that others may use, and its labels and variables name the wrong ones"
		}
		found.add(severity, fmt.Sprintf("container %s (%s): %s", name, c.Engine, moved), effect, fmt.Sprintf(
			"# make it again: metax-docker rm %s, then metax-docker create --name=%[1]s --gpus='[%s]' … %s", name, id, c.Image))
	}),
	checkEach("request-ignored", "no container asks for GPUs by its environment alone", func(f *Facts) bool {
		return len(
			f.Leases.Looks) > 0
	}, (*Facts).listedContainers, func(_ *Facts, c usage.Container, found *findings) {
		if c.Ignored != "" {
			name := cmp.Or(c.Name, usage.ShortID(c.ID))
			found.add(Warning, fmt.Sprintf("container %s (%s) has no GPU", name, c.Engine), usage.WhyIgnored(c.Ignored),
				fmt.Sprintf("# make it again: metax-docker rm %s, then metax-docker run --name=%[1]s --gpus=1 … %s", name, c.Image))
		}
	}),
	checkEach("holders-seen", "all users of GPUs can be found", func(f *Facts) bool { return len(f.Leases.Looks) > 0 },
		func(f *Facts) []ps.Source { return ps.Sources(f.Leases.Looks) }, func(f *Facts, s ps.Source, found *findings) {
			if s.Engine == "docker" && f.Engines.Docker.Stopped {
				return // the check docker-answers reports it
			}
			severity := map[ps.Status]Severity{ps.Failed: Warning, ps.Partial: Info}[s.Status]
			if severity != "" {
				found.add(severity, fmt.Sprintf("%s: %s", s, s.Message), "a GPU shown as free may be in use", f.ctkCommand("ps"))
			}
		}),
	firstOf("holders-outside", "GPUs are in use by containers only",
		func(f *Facts) bool {
			return len(
				f.Leases.Looks) > 0
		}, func(f *Facts) []usage.Holder { return f.Leases.Holders }, func(f *Facts, h usage.Holder, found *findings) {
			if h.Lease == nil && h.Container == nil && len(h.Processes) > 0 {
				of := namesWhere(h.GPUs, func(gpu.BDF) bool { return true }, gpu.BDF.String)
				found.add(Info, fmt.Sprintf("process %d (%s), in no container, has GPU %s open", h.Processes[0].PID,
					h.Processes[0].Command, shortList(of)),
					"metax-docker does not assign this GPU while it is open", f.ctkCommand("ps"))
			}
		}),
}

var imageChecks = []Check{
	{
		ID: "image", Title: "the image can be inspected", applies: func(f *Facts) bool { return f.Image != nil },
		run: func(f *Facts, found *findings) {
			if f.Image != nil && f.Image.Err != "" {
				found.add(Warning, fmt.Sprintf("image %q: %s", f.Image.Ref, f.Image.Err),
					"doctor cannot check whether it works with the driver", "docker pull "+dockerargs.QuoteWord(f.Image.Ref))
			}
		},
	},
	{ID: "image-driver", Title: "the image works with the driver", applies: func(f *Facts) bool {
		return f.Image != nil && f.Image.Facts.MACA != nil && f.macaKnown(f.Image.Facts.MACA.Version)
	}, run: func(f *Facts, found *findings) {
		if f.Image == nil || f.Image.Facts.MACA == nil {
			return
		}
		v := compat.Check(f.Software.Rules, f.Image.Facts.MACA.Version, f.Kernel.Module.Version)
		if v.State != compat.Mismatch {
			return
		}
		found.add(Error, fmt.Sprintf("image %q: %s", f.Image.Ref, v.Reason),
			"its programs fail at their first call of the driver, or later",
			fmt.Sprintf("metax-docker run --maca-force --gpus=1 %s", dockerargs.QuoteWord(f.Image.Ref)))
	}},
}
