package doctor

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/cdi"
	"github.com/metax-ctk/container-toolkit/internal/engine"
	"github.com/metax-ctk/container-toolkit/internal/engine/containerd"
)

// shim is the runtime that an engine without CDI starts.
const shim = "metax-runtime"

// configure is the command that sets an engine up.
func (f *Facts) configure(name string, args ...string) string {
	return f.command(append([]string{"runtime", "configure", "--engine", name}, args...)...)
}

// configFile is the file that an error names, of a configuration that has several.
var configFile = regexp.MustCompile(`/(etc|usr)/[^ :]+`)

// broken is the check that an engine's configuration can be read.
func broken(id string, of func(Engines) Engine) Check {
	return Check{id, "the configuration of " + strings.TrimSuffix(id, "-config") + " can be read", func(f *Facts, found *findings) {
		e := of(f.Engines)
		if e.Broken == "" {
			return
		}
		file := cmp.Or(configFile.FindString(e.Broken), e.Config)
		at := f.at(file)
		what := strings.Replace(e.Broken, file, at, 1)
		if !strings.Contains(what, at) {
			what = at + ": " + what
		}
		found.add(Error, what, "the engine does not start with it, or does without what it says", "edit "+at+", then: "+f.configure(e.Name, "--dry-run"))
	}}
}

// version is the check that an engine's program tells its version.
func version(id string, of func(Engines) Engine) Check {
	return Check{id, "the program of " + strings.TrimSuffix(id, "-version") + " answers", func(f *Facts, found *findings) {
		if e := of(f.Engines); e.Failed != "" {
			found.add(Warning, fmt.Sprintf("%s does not tell its version: %s", e.Name, e.Failed), "its known gaps cannot be told", f.at(e.Program)+" --version")
		}
	}}
}

var dockerChecks = []Check{
	version("docker-version", func(e Engines) Engine { return e.Docker.Engine }),
	broken("docker-config", func(e Engines) Engine { return e.Docker.Engine }),
	{"docker-answers", "the docker daemon answers", func(f *Facts, found *findings) {
		if d := f.Engines.Docker; d.Silent != "" {
			found.add(Warning, "the docker daemon does not answer: "+d.Silent, "no container can be started", "systemctl status docker")
		}
	}},
	{"docker-old", "docker knows CDI", func(f *Facts, found *findings) {
		if d := f.Engines.Docker; d.There() && d.Version.Before(25, 0) {
			found.add(Info, fmt.Sprintf("docker %s knows no CDI", d.Version), "metax-docker gives GPUs by plain options; docker run --device and compose do not",
				"use metax-docker, or register the runtime: "+f.configure("docker"))
		}
	}},
	{"docker-cdi", "docker's CDI is on", func(f *Facts, found *findings) {
		d := f.Engines.Docker
		off := d.Version.AtLeast(25, 0) && d.CDI == engine.Off || d.Version.AtLeast(25, 0) && d.Version.Before(28, 2) && d.CDI != engine.On
		if d.There() && d.Broken == "" && off {
			found.add(Warning, fmt.Sprintf("CDI is off in docker %s", d.Version), `docker run --device metax-tech.com/gpu=0 fails with: could not select device driver "cdi"`,
				f.configure("docker", "--cdi")+" && systemctl restart docker")
		}
	}},
	{"docker-boot", "docker starts containers with GPUs after a boot", func(f *Facts, found *findings) {
		d := f.Engines.Docker
		if !d.There() || !d.Version.AtLeast(25, 0) || !d.Version.Before(28, 2) || d.CDI != engine.On || !f.Specs.has(gpuKind) || f.resolves([]string{cdi.StaticDir}) {
			return
		}
		found.add(Warning, fmt.Sprintf("docker %s, and the CDI spec is in %s only", d.Version, cdi.DynamicDir),
			"containers with --restart=always and a GPU fail after a boot: the daemon starts them before the spec is there",
			f.generate("--output", f.at(path.Join(cdi.StaticDir, gpuFile))).String())
	}},
	{"docker-devices", "the docker daemon has discovered the GPUs", func(f *Facts, found *findings) {
		d := f.Engines.Docker
		if d.Info == nil || !d.Version.AtLeast(28, 2) || d.CDI == engine.Off || len(f.Specs.Names) == 0 || !f.Specs.has(gpuKind) {
			return
		}
		if len(f.Specs.Unresolved["docker"]) > 0 {
			return
		}
		for _, name := range f.Specs.Names {
			if !slices.ContainsFunc(d.Info.DiscoveredDevices, func(i struct{ Source, ID string }) bool { return i.ID == name }) {
				found.add(Error, "the docker daemon does not know "+name, "it does not look into a directory that was made after its start", "systemctl restart docker")
				return
			}
		}
	}},
	{"docker-groups", "docker gives the groups of device nodes", func(f *Facts, found *findings) {
		d := f.Engines.Docker
		if !d.There() || !d.Version.Before(29, 5) || !d.Version.AtLeast(25, 0) || !slices.ContainsFunc(f.Specs.Ours, func(o Spec) bool { return o.Groups }) {
			return
		}
		found.add(Info, fmt.Sprintf("docker %s drops the groups of CDI devices with --user", d.Version), "such a container cannot open the GPU; metax-docker adds the group",
			fmt.Sprintf("docker run --group-add %d …", f.group()))
	}},
}

// usernsChecks are about docker's user namespace for all containers.
var usernsChecks = []Check{
	firstOf("docker-userns", "docker's containers may open the GPUs", (*Facts).closed, func(f *Facts, n DeviceNode, found *findings) {
		if d := f.Engines.Docker; d.There() && (d.Userns != "" || d.Info.userns()) {
			found.add(Warning, fmt.Sprintf("docker runs containers in a user namespace (userns-remap), and %s is not open to everyone (mode %04o)", n.Path, n.Device.Perm),
				"owner and group of a device node have no id inside: neither root there nor --group-add opens the GPU",
				"docker run --userns=host --device metax-tech.com/gpu=0 …")
		}
	}),
}

// group is one that owns a GPU's node.
func (f *Facts) group() uint32 {
	for _, g := range f.Node.GPUs {
		if len(g.GIDs) > 0 {
			return g.GIDs[0]
		}
	}
	return video
}

var containerdChecks = []Check{
	version("containerd-version", func(e Engines) Engine { return e.Containerd.Engine }),
	broken("containerd-config", func(e Engines) Engine { return e.Containerd.Engine }),
	{"containerd-old", "containerd knows CDI", func(f *Facts, found *findings) {
		if d := f.Engines.Containerd; d.There() && d.Version.Before(1, 7) && f.System.HasKubelet {
			found.add(Warning, fmt.Sprintf("containerd %s knows no CDI", d.Version), "pods that ask for a CDI device start without it",
				f.configure("containerd")+" && systemctl restart containerd")
		}
	}},
	{"containerd-cdi", "containerd's CDI is on", func(f *Facts, found *findings) {
		d := f.Engines.Containerd
		off := d.CDI == engine.Off && d.Version.AtLeast(1, 7) || d.CDI == engine.Unset && d.Version.AtLeast(1, 7) && d.Version.Before(2, 0)
		if !d.There() || d.Broken != "" || d.NoCRI || !off || !f.System.HasKubelet {
			return // its CRI serves nobody; other clients see to CDI themselves
		}
		found.add(Warning, fmt.Sprintf("CDI is off in the CRI plugin of containerd %s", d.Version), "pods that ask for a CDI device start without it",
			f.configure("containerd", "--cdi")+" && systemctl restart containerd")
	}},
	{"containerd-cri", "containerd's CRI plugin is on where there is a kubelet", func(f *Facts, found *findings) {
		if d := f.Engines.Containerd; d.NoCRI && f.System.HasKubelet {
			found.add(Warning, "the CRI plugin of containerd is disabled, and there is a kubelet", "it cannot start pods with this containerd",
				fmt.Sprintf(`edit %s: take "cri" out of disabled_plugins, then: systemctl restart containerd`, f.at(d.Config)))
		}
	}},
	{"containerd-drop-in", "the drop-in of containerd is up to date", func(f *Facts, found *findings) {
		if f.Engines.Containerd.Stale {
			found.add(Warning, f.at(f.Engines.Containerd.Ours)+" no longer has what the rest of containerd's configuration says",
				"a drop-in replaces whole tables, so that later changes have no effect", f.configure("containerd")+" && systemctl restart containerd")
		}
	}},
	each("distributions", "doctor looks at every containerd of the host", func(f *Facts) []containerd.Place { return f.Engines.Distributions }, func(f *Facts, d containerd.Place, found *findings) {
		found.add(Info, fmt.Sprintf("%s has a containerd of its own, set up by %s", d.Name, f.at(d.Path)), "doctor does not look at it: whether its pods get GPUs is not known",
			f.configure(d.Name, "--dry-run"))
	}),
}

var podmanChecks = []Check{
	version("podman-version", func(e Engines) Engine { return e.Podman }),
	broken("podman-config", func(e Engines) Engine { return e.Podman }),
	{"podman-image", "images cannot ask for GPUs", func(f *Facts, found *findings) {
		if p := f.Engines.Podman; p.There() && p.Version.Before(5, 0) && len(f.System.Hooks) > 0 {
			found.add(Warning, fmt.Sprintf("podman %s takes annotations from images, and %s serves annotations", p.Version, f.System.Hooks[0].Path),
				"an image can give itself GPUs", fmt.Sprintf("rm %s, and use podman run --device metax-tech.com/gpu=0", f.at(f.System.Hooks[0].Path)))
		}
	}},
	firstOf("hook-stage", "no hook works behind systemd's back", (*Facts).hooks, func(f *Facts, h HookFile, found *findings) {
		if slices.Contains(h.Stages, "prestart") && f.systemdCgroups() {
			found.add(Warning, fmt.Sprintf("%s gives GPUs in a prestart hook, and systemd manages cgroups", f.at(h.Path)),
				"the GPU is gone from a running container after systemctl daemon-reload", fmt.Sprintf("rm %s, and use CDI", f.at(h.Path)))
		}
	}),
	each("hook-program", "the programs of our hooks are there", (*Facts).hooks, func(f *Facts, h HookFile, found *findings) {
		if !h.Runs {
			fix := "rm " + f.at(h.Path)
			if f.Programs.Dir != "" {
				fix = fmt.Sprintf("ln -s %s %s", path.Join(f.Programs.Dir, "metax-hook"), f.at(h.Hook))
			}
			found.add(Error, fmt.Sprintf("%s runs %s, which is not there", f.at(h.Path), h.Hook), "containers that ask for a GPU do not start", fix)
		}
	}),
}

var crioChecks = []Check{
	version("crio-version", func(e Engines) Engine { return e.CRIO }),
	broken("crio-config", func(e Engines) Engine { return e.CRIO }),
	firstOf("crio-hook", "no hook keeps CRI-O from starting", (*Facts).hooks, func(f *Facts, h HookFile, found *findings) {
		if f.Engines.CRIO.There() && slices.Contains(h.Stages, "precreate") {
			found.add(Error, f.at(h.Path)+" has the stage precreate, which CRI-O does not know", "CRI-O does not start", "rm "+f.at(h.Path)+" && systemctl restart crio")
		}
	}),
}

var runtimeChecks = []Check{
	{"runtime-default", "the default runtime of every engine is there", func(f *Facts, found *findings) {
		f.missing(found, func(e Engine, name string) bool { return e.Default == name }, "no container starts")
	}},
	{"runtime-program", "every runtime of an engine is there", func(f *Facts, found *findings) {
		f.missing(found, func(e Engine, name string) bool { return e.Default != name }, "containers that name it do not start")
	}},
}

// missing are the runtimes without a program, of those that are meant.
func (f *Facts) missing(found *findings, meant func(e Engine, name string) bool, why string) {
	for _, e := range f.Engines.all() {
		for _, name := range e.Missing {
			if !meant(e, name) {
				continue
			}
			p := e.Runtimes[name]
			fix := fmt.Sprintf("edit %s: take the runtime %s out", f.at(e.Config), name)
			if strings.HasSuffix(p, "/"+shim) {
				fix = f.configure(e.Name, f.named(name)...)
			}
			found.add(Error, fmt.Sprintf("the runtime %s of %s is %s, which is not there", name, e.Name, p), why, fix)
		}
	}
}

// named are the options by which our runtime gets its name, and the path at which
// it is.
func (f *Facts) named(name string) []string {
	options := []string{"--name", name}
	if f.Programs.Dir != "" {
		options = append(options, "--runtime-path", path.Join(f.Programs.Dir, shim))
	}
	return options
}

var remoteChecks = []Check{
	each("remote", "engines are on this host", func(f *Facts) []Remote { return f.Engines.Remotes }, func(_ *Facts, r Remote, found *findings) {
		found.add(Warning, fmt.Sprintf("%s is at %s, by %s", r.Engine, r.Address, r.Origin),
			"GPUs are picked on this host, and containers start on that one", r.Undo)
	}),
}
