// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/cdi"
	"github.com/metax-ctk/container-toolkit/internal/dockerd"
	"github.com/metax-ctk/container-toolkit/internal/engine"
	"github.com/metax-ctk/container-toolkit/internal/engine/containerd"
	"github.com/metax-ctk/container-toolkit/internal/lazyregexp"
)

// shim is the runtime for engines without CDI.
const shim = "metax-runtime"

// configureCommand is the command that sets an engine up.
func (f *Facts) configureCommand(name string, args ...string) string {
	return f.ctkCommand(append([]string{"runtime", "configure", "--engine", name}, args...)...)
}

// configFile matches the file that an error names, for a configuration of several
// files.
var configFile = lazyregexp.New(`/(etc|usr)/[^ :]+`)

// configCheck checks that an engine's configuration can be read.
func configCheck(id string, of func(Engines) Engine) Check {
	there := func(f *Facts) bool { return of(f.Engines).There() }
	return Check{
		ID: id, Title: "the configuration of " + strings.TrimSuffix(id, "-config") + " can be read",
		applies: there, run: func(f *Facts, found *findings) {
			e := of(f.Engines)
			if e.Broken == "" {
				return
			}
			file := cmp.Or(configFile().FindString(e.Broken), e.Config)
			at := f.localPath(file)
			what := strings.Replace(e.Broken, file, at, 1)
			if !strings.Contains(what, at) {
				what = at + ": " + what
			}
			found.add(Error, what, "the engine does not start, or ignores the file", "# edit "+at+", then: "+
				f.configureCommand(e.Name, "--dry-run"))
		},
	}
}

// versionCheck checks that an engine's program reports its version.
func versionCheck(id string, of func(Engines) Engine) Check {
	known := func(f *Facts) bool { return of(f.Engines).Version.Known() }
	return Check{
		ID: id, Title: "the program of " + strings.TrimSuffix(id, "-version") + " answers", applies: known,
		run: func(f *Facts, found *findings) {
			if e := of(f.Engines); e.Failed != "" {
				found.add(Warning, fmt.Sprintf("%s does not report its version: %s", e.Name, e.Failed),
					"doctor cannot check for its known limitations", f.localPath(e.Program)+" --version")
			}
		},
	}
}

var dockerChecks = []Check{
	versionCheck("docker-version", func(e Engines) Engine { return e.Docker.Engine }),
	configCheck("docker-config", func(e Engines) Engine { return e.Docker.Engine }),
	{
		ID: "docker-answers", Title: "the docker daemon answers",
		applies: func(f *Facts) bool { return f.Engines.Docker.Info != nil }, run: func(f *Facts, found *findings) {
			d := f.Engines.Docker
			switch {
			case d.Stopped:
				found.add(Warning, "docker is installed, but its daemon does not run", "docker can start no container",
					"systemctl start docker")
			case d.Silent != "":
				found.add(Warning, "the docker daemon does not answer: "+d.Silent, "docker can start no container",
					"systemctl status docker")
			}
		},
	},
	{
		ID: "docker-old", Title: "docker supports CDI",
		applies: func(f *Facts) bool { return f.Engines.Docker.Version.Known() }, run: func(f *Facts, found *findings) {
			if d := f.Engines.Docker; d.There() && d.Version.Before(25, 0) {
				found.add(Info, fmt.Sprintf("docker %s does not support CDI", d.Version),
					"metax-docker injects GPUs by plain options; docker run --device and compose do not",
					f.configureCommand("docker")+"   # or use metax-docker")
			}
		},
	},
	{ID: "docker-cdi", Title: "docker's CDI is on", applies: func(f *Facts) bool {
		return f.Engines.Docker.Version.AtLeast(
			25, 0) && f.Engines.Docker.Broken == ""
	}, run: func(f *Facts, found *findings) {
		d := f.Engines.Docker
		if d.There() && d.Broken == "" && d.Version.AtLeast(25, 0) && !d.hasCDI() {
			found.add(Warning, fmt.Sprintf("CDI is off in docker %s", d.Version),
				`docker run --device metax-tech.com/gpu=0 fails with: could not select device driver "cdi"`,
				f.configureCommand("docker", "--cdi")+" && systemctl restart docker")
		}
	}},
	{
		ID: "docker-boot", Title: "docker starts containers with GPUs after a boot",
		applies: func(f *Facts) bool {
			return f.Engines.Docker.Version.AtLeast(25, 0) &&
				f.Specs.hasKind(gpuKind)
		}, run: func(f *Facts, found *findings) {
			d := f.Engines.Docker
			if !d.There() || !d.Version.AtLeast(25, 0) || !d.Version.Before(28, 2) || d.CDI != engine.On ||
				!f.Specs.hasKind(gpuKind) || f.hasSpecIn([]string{cdi.StaticDir}) {
				return
			}
			found.add(Warning, fmt.Sprintf("docker %s starts containers before the CDI spec is written, which is only in %s",
				d.Version, cdi.DynamicDir),
				"containers with --restart=always and a GPU fail after a boot: the daemon starts them before the spec is there",
				f.generateStep("--output", f.localPath(path.Join(cdi.StaticDir, gpuFile))).String())
		},
	},
	{ID: "docker-devices", Title: "the docker daemon has discovered the GPUs", applies: func(f *Facts) bool {
		return f.Engines.Docker.Info != nil && f.Engines.Docker.Version.AtLeast(28, 2) && f.Specs.hasKind(gpuKind)
	}, run: func(f *Facts, found *findings) {
		d := f.Engines.Docker
		if d.Info == nil || !d.Version.AtLeast(28, 2) || d.CDI == engine.Off || len(f.Specs.Names) == 0 ||
			!f.Specs.hasKind(gpuKind) {
			return
		}
		if len(f.Specs.Unresolved["docker"]) > 0 {
			return
		}
		for _, name := range f.Specs.Names {
			if !slices.ContainsFunc(d.Info.DiscoveredDevices, func(d dockerd.Discovered) bool { return d.ID == name }) {
				found.add(Error, "the docker daemon does not know "+name,
					"it does not read a directory that was made after it started", "systemctl restart docker")
				return
			}
		}
	}},
	{
		ID: "docker-read", Title: "the docker daemon has read its configuration", applies: (*Facts).dockerAsked,
		run: func(f *Facts, found *findings) {
			d := f.Engines.Docker
			add := func(severity Severity, what, why string) {
				found.add(severity, fmt.Sprintf("the docker daemon has not read %s: %s", f.localPath(d.Config), what), why,
					"systemctl restart docker")
			}
			if !f.dockerAsked() {
				return
			}
			for _, name := range sortedKeys(d.Runtimes) {
				if p, known := d.Info.Runtimes[name]; strings.HasSuffix(d.Runtimes[name], "/"+shim) &&
					(!known || (p.Path != "" && p.Path != d.Runtimes[name])) {
					add(Error, "it does not know the runtime "+name, "containers that name it do not start")
				}
			}
			if is := d.Info.DefaultRuntime; d.Default != "" && is != "" && is != d.Default {
				add(Warning, fmt.Sprintf("its default runtime is %s, not %s", is, d.Default),
					"containers that name no runtime are made by another one")
			}
			if d.Version.AtLeast(25, 0) && d.CDI == engine.On && len(d.Info.CDISpecDirs) == 0 {
				add(Error, "CDI is off",
					`docker run --device metax-tech.com/gpu=0 fails with: could not select device driver "cdi"`)
			}
		},
	},
	{
		ID: "docker-groups", Title: "docker keeps the groups of device nodes",
		applies: func(f *Facts) bool {
			return f.Engines.Docker.Version.AtLeast(25, 0) &&
				f.Specs.hasKind(gpuKind)
		}, run: func(f *Facts, found *findings) {
			d := f.Engines.Docker
			if !d.There() || !d.Version.Before(29, 5) || !d.Version.AtLeast(25, 0) ||
				!slices.ContainsFunc(f.Specs.Ours, func(o Spec) bool { return o.Groups }) {
				return
			}
			found.add(Info, fmt.Sprintf("docker %s drops the groups of CDI devices with --user", d.Version),
				"such a container cannot open the GPU; metax-docker adds the group",
				fmt.Sprintf("docker run --group-add %d …", f.deviceGroup()))
		},
	},
}

// usernsChecks are about docker's user namespace for all containers.
var usernsChecks = []Check{
	firstOf("docker-userns", "docker's containers may open the GPUs",
		func(f *Facts) bool {
			return f.Engines.Docker.There() &&
				f.hasDevices()
		}, (*Facts).restrictedNodes, func(f *Facts, n DeviceNode, found *findings) {
			if d := f.Engines.Docker; d.There() && (d.Userns != "" || d.Info.Userns()) {
				found.add(Warning, fmt.Sprintf(
					"docker runs containers in a user namespace (userns-remap), and %s is not open to everyone (mode %04o)", n.Path,
					n.Device.Perm),
					"owner and group of a device node have no id inside: neither root there nor --group-add opens the GPU",
					"docker run --userns=host --device metax-tech.com/gpu=0 …")
			}
		}),
}

// deviceGroup is a group that owns a GPU's node.
func (f *Facts) deviceGroup() uint32 {
	for _, g := range f.Node.GPUs {
		if len(g.GIDs) > 0 {
			return g.GIDs[0]
		}
	}
	return videoGroup
}

var containerdChecks = []Check{
	versionCheck("containerd-version", func(e Engines) Engine { return e.Containerd.Engine }),
	configCheck("containerd-config", func(e Engines) Engine { return e.Containerd.Engine }),
	{
		ID: "containerd-old", Title: "containerd supports CDI",
		applies: func(f *Facts) bool {
			return f.Engines.Containerd.Version.Known() &&
				f.System.HasKubelet
		}, run: func(f *Facts, found *findings) {
			if d := f.Engines.Containerd; d.There() && d.Version.Before(1, 7) && f.System.HasKubelet {
				found.add(Warning, fmt.Sprintf("containerd %s does not support CDI", d.Version),
					"pods that request a CDI device start without it",
					f.configureCommand("containerd")+" && systemctl restart containerd")
			}
		},
	},
	{ID: "containerd-cdi", Title: "containerd's CDI is on", applies: func(f *Facts) bool {
		d := f.Engines.Containerd
		return d.Version.AtLeast(1, 7) && d.Broken == "" && !d.NoCRI && f.System.HasKubelet
	}, run: func(f *Facts, found *findings) {
		d := f.Engines.Containerd
		if !d.There() || d.Broken != "" || d.NoCRI || !d.Version.AtLeast(1, 7) || d.hasCDI() || !f.System.HasKubelet {
			return // only kubelet uses the CRI; other clients resolve CDI names themselves
		}
		found.add(Warning, fmt.Sprintf("CDI is off in the CRI plugin of containerd %s", d.Version),
			"pods that request a CDI device start without it",
			f.configureCommand("containerd", "--cdi")+" && systemctl restart containerd")
	}},
	{ID: "containerd-cri", Title: "containerd's CRI plugin is on where there is a kubelet", applies: func(f *Facts) bool {
		return f.Engines.Containerd.There() && f.Engines.Containerd.Broken == "" && f.System.HasKubelet
	}, run: func(f *Facts, found *findings) {
		if d := f.Engines.Containerd; d.NoCRI && f.System.HasKubelet {
			found.add(Warning, "the CRI plugin of containerd is disabled, but kubelet is installed",
				"kubelet cannot start pods with this containerd",
				fmt.Sprintf(`# in %s: remove "cri" from disabled_plugins; then: systemctl restart containerd`,
					f.localPath(d.Config)))
		}
	}},
	{
		ID: "containerd-read", Title: "containerd has read its configuration",
		applies: func(f *Facts) bool { return f.Engines.Containerd.There() }, run: func(f *Facts, found *findings) {
			for _, file := range f.Engines.Containerd.Unread {
				found.add(Warning, fmt.Sprintf("containerd has not read %s: the file is newer than the daemon", f.localPath(file)),
					"containers are made as the file said before", "systemctl restart containerd")
			}
		},
	},
	{
		ID: "containerd-drop-in", Title: "the drop-in of containerd is up to date",
		applies: func(f *Facts) bool {
			return f.Engines.Containerd.There() &&
				f.Engines.Containerd.Broken == ""
		}, run: func(f *Facts, found *findings) {
			if f.Engines.Containerd.Stale {
				found.add(Warning, f.localPath(f.Engines.Containerd.Ours)+
					" is out of date: the rest of containerd's configuration has changed",
					"the drop-in replaces whole tables, so changes elsewhere have no effect", f.configureCommand("containerd")+
						" && systemctl restart containerd")
			}
		},
	},
	checkEach("distributions", "doctor checks every containerd of the host",
		ifCollected("containerd",
			func(f *Facts) bool { return !f.isSnapshot() }),
		func(f *Facts) []containerd.Place { return f.Engines.Distributions }, func(f *Facts, d containerd.Place,
			found *findings,
		) {
			found.add(Info, fmt.Sprintf("%s has a containerd of its own, set up by %s", d.Name, f.localPath(d.Path)),
				"doctor does not check whether its pods get GPUs",
				f.configureCommand(d.Name, "--dry-run"))
		}),
}

var podmanChecks = []Check{
	versionCheck("podman-version", func(e Engines) Engine { return e.Podman }),
	configCheck("podman-config", func(e Engines) Engine { return e.Podman }),
	{
		ID: "podman-image", Title: "images cannot request GPUs",
		applies: func(f *Facts) bool { return f.Engines.Podman.Version.Known() }, run: func(f *Facts, found *findings) {
			if p := f.Engines.Podman; p.There() && p.Version.Before(5, 0) && len(f.System.Hooks) > 0 {
				found.add(Warning, fmt.Sprintf(
					"podman %s passes on the annotations of images, and the hook %s injects GPUs by annotation", p.Version,
					f.System.Hooks[0].Path),
					"an image can request GPUs by itself", fmt.Sprintf("rm %s   # then: podman run --device metax-tech.com/gpu=0",
						f.localPath(f.System.Hooks[0].Path)))
			}
		},
	},
	firstOf("hook-stage", "no prestart hook injects GPUs where systemd manages cgroups", (*Facts).hasHooks,
		(*Facts).installedHooks, func(f *Facts, h HookFile, found *findings) {
			if slices.Contains(h.Stages, "prestart") && f.systemdCgroups() {
				found.add(Warning,
					fmt.Sprintf("%s injects GPUs in a prestart hook, but systemd manages cgroups", f.localPath(h.Path)),
					"a running container loses the GPU at the next systemctl daemon-reload",
					fmt.Sprintf("rm %s   # then use CDI: --device metax-tech.com/gpu=0", f.localPath(h.Path)))
			}
		}),
	checkEach("hook-program", "the programs of the toolkit's hooks exist", (*Facts).hasHooks, (*Facts).installedHooks,
		func(f *Facts, h HookFile, found *findings) {
			if !h.Runs {
				fix := "rm " + f.localPath(h.Path)
				if f.Programs.Dir != "" {
					fix = fmt.Sprintf("ln -s %s %s", path.Join(f.Programs.Dir, "metax-hook"), f.localPath(h.Hook))
				}
				found.add(Error, fmt.Sprintf("%s runs %s, which does not exist", f.localPath(h.Path), h.Hook),
					"containers that request a GPU do not start", fix)
			}
		}),
}

var crioChecks = []Check{
	versionCheck("crio-version", func(e Engines) Engine { return e.CRIO }),
	configCheck("crio-config", func(e Engines) Engine { return e.CRIO }),
	firstOf("crio-hook", "no hook keeps CRI-O from starting", func(f *Facts) bool {
		return f.Engines.CRIO.There() &&
			f.hasHooks()
	}, (*Facts).installedHooks, func(f *Facts, h HookFile, found *findings) {
		if f.Engines.CRIO.There() && slices.Contains(h.Stages, "precreate") {
			found.add(Error, f.localPath(h.Path)+" has the stage precreate, which CRI-O does not know", "CRI-O does not start",
				"rm "+f.localPath(h.Path)+" && systemctl restart crio")
		}
	}),
}

var runtimeChecks = []Check{
	{
		ID: "runtime-default", Title: "the default runtime of every engine exists", applies: (*Facts).hasEngine,
		run: func(f *Facts, found *findings) {
			f.addMissingRuntimes(found, func(e Engine, name string) bool { return e.Default == name }, "no container starts")
		},
	},
	{
		ID: "runtime-program", Title: "every runtime of an engine exists", applies: (*Facts).hasEngine,
		run: func(f *Facts, found *findings) {
			f.addMissingRuntimes(found, func(e Engine, name string) bool { return e.Default != name },
				"containers that name it do not start")
		},
	},
}

// addMissingRuntimes adds a finding for each chosen runtime whose program does not
// exist.
func (f *Facts) addMissingRuntimes(found *findings, meant func(e Engine, name string) bool, why string) {
	for _, e := range f.Engines.allInstalled() {
		for _, name := range e.Missing {
			if !meant(e, name) {
				continue
			}
			p := e.Runtimes[name]
			fix := fmt.Sprintf("# in %s: remove the runtime %s", f.localPath(e.Config), name)
			if strings.HasSuffix(p, "/"+shim) {
				fix = f.configureCommand(e.Name, f.runtimeOptions(name)...)
			}
			found.add(Error, fmt.Sprintf("the runtime %s of %s is %s, which does not exist", name, e.Name, p), why, fix)
		}
	}
}

// runtimeOptions are the options of runtime configure for our runtime's name and path.
func (f *Facts) runtimeOptions(name string) []string {
	options := []string{"--name", name}
	if f.Programs.Dir != "" {
		options = append(options, "--runtime-path", path.Join(f.Programs.Dir, shim))
	}
	return options
}

var remoteChecks = []Check{
	checkEach("remote", "engines are on this host", ifCollected("remote engines", (*Facts).isThisMachine),
		func(f *Facts) []Remote { return f.Engines.Remotes }, func(_ *Facts, r Remote, found *findings) {
			found.add(Warning, fmt.Sprintf("%s may be on another host: its address is %s (%s)", r.Engine, r.Address, r.Origin),
				"GPUs are chosen on this host, but containers may start on another", r.Undo)
		}),
}
