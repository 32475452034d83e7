package doctor

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/cdi"
	"github.com/metax-ctk/container-toolkit/internal/engine"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/wording"
)

var (
	gpuKind = cdi.Kind(cdi.DefaultVendor, cdi.DefaultClass)
	// gpuFile is the name of the file of that kind.
	gpuFile = path.Base(cdi.Path(cdi.DefaultVendor, cdi.DefaultClass, cdi.JSON))
)

// has reports whether there is a spec of a kind that engines can use.
func (s Specs) has(kind string) bool {
	return slices.ContainsFunc(s.Ours, func(o Spec) bool { return o.Kind == kind })
}

// present reports whether there is a spec of the GPUs, or of their parts where none
// is given as a whole.
func (f *Facts) present() bool {
	return f.Specs.has(gpuKind) || f.Specs.has(cdi.Kind(cdi.DefaultVendor, cdi.SliceClass)) && len(f.Specs.Names) == 0
}

// generate is cdi generate with what the spec at hand was written with.
func (f *Facts) generate(args ...string) Step {
	args = append([]string{"cdi", "generate"}, args...)
	i := slices.IndexFunc(f.Specs.Ours, func(o Spec) bool { return o.Kind == gpuKind })
	if i < 0 {
		return f.toolkit(args...)
	}
	have := f.Specs.Ours[i]
	if !have.Groups && slices.ContainsFunc(f.Node.GPUs, func(g gpu.GPU) bool { return len(g.GIDs) > 0 }) {
		args = append(args, "--no-groups")
	}
	if have.Names != cdi.AllNames {
		args = append(args, "--device-name-strategy", have.Names.String())
	}
	if have.EngineRoot != f.Root {
		args = append(args, "--engine-root", have.EngineRoot)
	}
	return f.toolkit(args...)
}

var specChecks = []Check{
	{"spec-dirs", "the directories of CDI specs are there", func(f *Facts, found *findings) {
		if len(f.Specs.Missing) == 0 || len(f.Engines.all()) == 0 {
			return
		}
		var steps []Step
		for _, dir := range f.Specs.Missing {
			steps = append(steps, Step{Directory: f.at(dir)})
		}
		found.mend(Warning, list(f.Specs.Missing)+": no such directory",
			"a daemon that starts before it is made may never look into it", steps...)
	}},
	{"spec-present", "there is a CDI spec of the GPUs", func(f *Facts, found *findings) {
		if f.up() && !f.present() && !f.brokenOurs() {
			found.mend(Error, fmt.Sprintf("no CDI spec of kind %s in %s", gpuKind, strings.Join(f.Specs.Dirs, ", ")),
				"no engine knows the GPUs by their CDI names", f.generate())
		}
	}},
	each("spec-readable", "everyone can read our CDI specs", func(f *Facts) []cdi.Problem { return f.Specs.Problems() }, func(f *Facts, p cdi.Problem, found *findings) {
		if p.Code != cdi.CodePermission {
			return
		}
		why := "an engine without root, such as rootless Podman, does not know what is in it"
		if i := slices.IndexFunc(f.Specs.Files, func(file cdi.File) bool { return f.at(file.Path) == p.Subject || file.Path == p.Subject }); i >= 0 && ours(f.Specs.Files[i].Kind) {
			found.mend(Error, p.String(), why, Step{Chmod: f.at(f.Specs.Files[i].Path), Mode: 0o644})
			return
		}
		found.add(Warning, p.String(), why, "chmod 0644 "+quoted(p.Subject))
	}),
	{"spec-writable", "nobody but root can write a CDI spec or its directory", func(f *Facts, found *findings) {
		f.dangers(found, cdi.CodeWritable, "a spec says what engines mount and run as root; metax-runtime and metax-hook refuse this one",
			func(at string) string { return "chown root:root " + at + " && chmod go-w " + at })
	}},
	{"spec-kind", "no CDI spec has a kind that ends an engine", func(f *Facts, found *findings) {
		f.dangers(found, cdi.CodeName, "the engine ends as it reads the spec, whichever device a container asks for",
			func(at string) string { return "mv " + at + " " + at + ".broken" })
	}},
	each("spec-form", "every CDI spec can be used by engines", func(f *Facts) []cdi.File { return f.Specs.Files }, func(f *Facts, file cdi.File, found *findings) {
		if file.Error == "" {
			return
		}
		what, why := fmt.Sprintf("%s: %s", f.at(file.Path), file.Error), "some engines refuse every CDI device while one file is broken"
		if path.Base(file.Path) == gpuFile && path.Dir(file.Path) == cdi.DynamicDir && f.up() {
			found.add(Error, what, why, fmt.Sprintf("rm %s && %s", quoted(f.at(file.Path)), f.generate().String()))
			return
		}
		found.add(Error, what, why, fmt.Sprintf("mv %s %s.broken", quoted(f.at(file.Path)), quoted(f.at(file.Path))))
	}),
	{"spec-conflict", "no device name stands in two files of one directory", func(f *Facts, found *findings) {
		seen := map[string]bool{}
		for _, d := range f.Specs.Devices {
			key := strings.Join(d.Conflict, " ")
			if len(d.Conflict) == 0 || seen[key] {
				continue
			}
			seen[key] = true
			found.add(Error, fmt.Sprintf("%s both define %s", strings.Join(d.Conflict, " and "), d.Name), "no engine resolves such a name",
				"rm "+quoted(f.at(f.odd(d.Conflict))))
		}
	}},
	{"spec-shadowed", "no CDI spec hides another one that says something else", func(f *Facts, found *findings) {
		seen := map[string]bool{}
		for _, d := range f.Specs.Devices {
			for _, below := range d.Shadowed {
				if seen[d.File+below] || f.same(d.File, below) {
					continue
				}
				seen[d.File+below] = true
				found.add(Warning, fmt.Sprintf("%s defines %s too, and %s wins", below, d.Name, d.File),
					"what is changed in the first has no effect", "rm "+quoted(f.at(below)))
			}
		}
	}},
	each("spec-drift", "the CDI specs are up to date", (*Facts).specs, func(f *Facts, o Spec, found *findings) {
		n := len(o.Drift)
		if n == 0 && !o.Removed {
			return
		}
		what := fmt.Sprintf("%s: the node has nothing of kind %s any more", f.at(o.Path), o.Kind)
		if n > 0 {
			what = fmt.Sprintf("the CDI spec %s is out of date (%s, first: %s)", f.at(o.Path), wording.Count(n, "difference"), o.Drift[0].Text())
		}
		why := "containers get what was right when it was written: paths of an older driver, or not all GPUs"
		step := f.generate()
		if _, class, _ := strings.Cut(o.Kind, "/"); o.Path != cdi.Path(cdi.DefaultVendor, class, cdi.JSON) {
			step = f.generate("--class", class, "--output", f.at(o.Path))
		}
		f.anew(found, Error, what, why, step)
	}),
	{"spec-hooks", "the hooks in CDI specs can be trusted", func(f *Facts, found *findings) {
		f.problems(found, "a container with it does not start, or somebody else runs a program as root", cdi.CodeHook, cdi.CodeHookEnv)
	}},
	{"spec-files", "what CDI specs name is there", func(f *Facts, found *findings) {
		if !f.up() {
			return // its nodes are missing for a reason that stands above
		}
		f.problems(found, "a container with it does not start", cdi.CodeNode, cdi.CodeMount, cdi.CodeNumbers, cdi.CodePath, cdi.CodeText, cdi.CodeOutside)
	}},
	{"spec-groups", "the CDI spec gives the groups of the device nodes", func(f *Facts, found *findings) {
		i := slices.IndexFunc(f.Specs.Ours, func(o Spec) bool { return o.Kind == gpuKind })
		if i < 0 || f.Specs.Ours[i].Groups || !slices.ContainsFunc(f.Node.GPUs, func(g gpu.GPU) bool { return len(g.GIDs) > 0 }) {
			return
		}
		if p := f.Engines.Podman; p.There() && p.Version.Before(5, 0) {
			return // it has to be so
		}
		found.add(Info, f.at(f.Specs.Ours[i].Path)+" was written without groups", "in a container, users other than root may need --group-add", f.command("cdi", "generate"))
	}},
}

// dangers are the problems of spec files and directories that have a code, each with
// the command that ends it.
func (f *Facts) dangers(found *findings, code, why string, fix func(at string) string) {
	for _, p := range f.Specs.Problems() {
		if p.Code == code {
			p.Subject = f.at(p.Subject)
			found.add(Error, p.String(), why, fix(quoted(p.Subject)))
		}
	}
}

// anew is a finding that cdi generate mends. It is safe unless GPUs would vanish
// from a spec: they may only be gone for a moment.
func (f *Facts) anew(found *findings, s Severity, what, why string, step Step) {
	shrinks := func(o Spec) bool {
		return o.Removed || slices.ContainsFunc(o.Drift, func(d cdi.Difference) bool { return d.Op == cdi.Removed && d.Field == "" })
	}
	if slices.ContainsFunc(f.Specs.Ours, shrinks) {
		found.add(s, what, why, step.String())
		return
	}
	found.mend(s, what, why, step)
}

// same reports whether a file says what another one says.
func (f *Facts) same(wins, below string) bool {
	i := slices.IndexFunc(f.Specs.Ours, func(o Spec) bool { return o.Path == wins })
	return i >= 0 && slices.Contains(f.Specs.Ours[i].Same, below)
}

// odd is the file of a conflict that is not where ours belongs.
func (f *Facts) odd(files []string) string {
	return files[max(0, slices.IndexFunc(files, func(file string) bool { return path.Base(file) != gpuFile }))]
}

// brokenOurs reports whether our own file is there and cannot be used.
func (f *Facts) brokenOurs() bool {
	return slices.ContainsFunc(f.Specs.Files, func(file cdi.File) bool { return file.Error != "" && path.Base(file.Path) == gpuFile })
}

// problems are those of our specs that have one of the codes, unless the spec is
// to be written anew anyway.
func (f *Facts) problems(found *findings, why string, codes ...string) {
	for _, o := range f.Specs.Ours {
		if len(o.Drift) > 0 || o.Removed {
			continue
		}
		for _, p := range o.Problems {
			if slices.Contains(codes, p.Code) {
				found.add(Error, fmt.Sprintf("%s: %s", f.at(o.Path), p), why, f.mendProblem(p))
			}
		}
	}
}

func (f *Facts) mendProblem(p cdi.Problem) string {
	if p.Code == cdi.CodeHook && strings.Contains(p.Message, "other than root may change it") {
		return fmt.Sprintf("chown root %s && chmod 0755 %s", quoted(p.Subject), quoted(p.Subject))
	}
	return f.generate().String()
}

var resolveChecks = []Check{
	each("spec-version", "every engine reads the version of the CDI specs", (*Facts).specs, func(f *Facts, o Spec, found *findings) {
		if p := f.Engines.Podman; p.There() && p.Version.Before(5, 0) && engine.ParseVersion(o.Version).AtLeast(0, 6) {
			found.add(Error, fmt.Sprintf("%s is of CDI %s, and podman %s reads up to 0.5.0", f.at(o.Path), o.Version, p.Version),
				"the engine rejects the whole file", f.command("cdi", "generate", "--no-groups"))
		}
	}),
	{"cdi-names", "every engine resolves the CDI names of the GPUs", func(f *Facts, found *findings) {
		if !f.Specs.has(gpuKind) {
			return
		}
		for _, e := range f.Engines.all() {
			dirs, own := f.dirsOf(e)
			names := f.Specs.Unresolved[e.Name]
			if len(names) == 0 || !own && f.faulty() {
				continue
			}
			found.add(Error, fmt.Sprintf("%s, which looks in %s, does not resolve %s", e.Name, strings.Join(dirs, ", "), list(names)),
				"it starts no container that asks for one of these", f.generate("--output", path.Join(f.at(dirs[len(dirs)-1]), gpuFile)).String())
		}
	}},
}

// faulty reports whether a spec has a fault that is told already.
func (f *Facts) faulty() bool {
	return slices.ContainsFunc(f.Specs.Ours, func(o Spec) bool { return len(o.Drift) > 0 || o.Removed }) ||
		slices.ContainsFunc(f.Specs.Devices, func(d cdi.Device) bool { return len(d.Conflict) > 0 })
}

// dirsOf are the directories in which an engine looks, in ascending priority, and
// whether they are others than the usual ones.
func (f *Facts) dirsOf(e Engine) ([]string, bool) {
	dirs := e.SpecDirs
	if e.Name == "docker" && f.Engines.Docker.Info != nil && len(f.Engines.Docker.Info.CDISpecDirs) > 0 {
		dirs = f.Engines.Docker.Info.CDISpecDirs
	}
	if len(dirs) == 0 && e.Name == "podman" && e.Version.AtLeast(5, 5) && e.Version.Before(5, 6) {
		dirs = []string{cdi.StaticDir}
	}
	if len(dirs) == 0 || slices.Equal(dirs, f.Specs.Dirs) {
		return f.Specs.Dirs, false
	}
	return dirs, true
}

// resolves reports whether one of the directories has a spec of the GPUs.
func (f *Facts) resolves(dirs []string) bool {
	return slices.ContainsFunc(f.Specs.Ours, func(o Spec) bool {
		at := path.Dir(o.Path)
		return o.Kind == gpuKind && slices.ContainsFunc(dirs, func(dir string) bool { return unaliased(dir) == unaliased(at) })
	})
}

// unaliased is a directory by its name below /run, to which /var/run leads.
func unaliased(dir string) string {
	if below, ok := strings.CutPrefix(path.Clean(dir), "/var/run/"); ok {
		return "/run/" + below
	}
	return path.Clean(dir)
}

var recordChecks = []Check{
	{"record", "what the vendor's software says is recorded", func(f *Facts, found *findings) {
		switch {
		case !f.up() || !f.present():
		case !f.Record.Present:
			f.anew(found, Warning, f.at(f.Record.Path)+" is missing", "metax-docker does not ask the vendor's software, and knows neither MetaXLink nor UUIDs without it", f.generate())
		case f.Record.Err != "":
			found.add(Error, "the record of the node cannot be read: "+f.Record.Err, "metax-docker does not use it, and knows neither MetaXLink nor UUIDs",
				fmt.Sprintf("rm %s && %s", quoted(f.at(f.Record.Path)), f.generate().String()))
		case f.Record.Early:
			f.anew(found, Warning, f.at(f.Record.Path)+" was written before this boot", "links and health may be others since", f.generate())
		}
	}},
	{"record-drift", "the record of the node is up to date", func(f *Facts, found *findings) {
		if !f.up() || !f.Node.Known || !f.Record.Present || f.Record.Err != "" || f.Record.Early {
			return
		}
		for _, g := range f.Node.GPUs {
			r, known := f.Record.Node.Lookup(g.BDF)
			_, seen := f.Kernel.function(g.BDF)
			switch {
			case !seen:
				// That the kernel does not show it stands above.
			case !known:
				f.anew(found, Warning, fmt.Sprintf("the record does not know GPU %s", g.BDF), "metax-docker gives GPUs by what is recorded", f.generate())
				return
			case r.UUID != g.UUID && g.UUID != "", r.Healthy != g.Healthy:
				f.anew(found, Warning, fmt.Sprintf("GPU %s is no longer as it is recorded", g.BDF), "metax-docker gives GPUs by what is recorded", f.generate())
				return
			}
		}
	}},
}
