// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/cdi"
	"github.com/metax-ctk/container-toolkit/internal/dockerargs"
	"github.com/metax-ctk/container-toolkit/internal/engine"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/wording"
)

var (
	gpuKind = cdi.Kind(cdi.DefaultVendor, cdi.DefaultClass)
	// gpuFile is the name of the file of that kind.
	gpuFile = path.Base(cdi.Path(cdi.DefaultVendor, cdi.DefaultClass, cdi.JSON))
)

// hasKind reports whether there is a usable spec of a kind, whoever wrote it.
func (s Specs) hasKind(kind string) bool {
	return slices.ContainsFunc(s.Ours, func(o Spec) bool { return o.Kind == kind }) ||
		slices.ContainsFunc(s.Files, func(file cdi.File) bool { return file.Kind == kind && file.IsForeign() })
}

// isForeign reports whether a file is another program's.
func (s Specs) isForeign(name string) bool {
	return slices.ContainsFunc(s.Files, func(file cdi.File) bool { return file.Path == name && file.IsForeign() })
}

// onlyForeign reports whether another program, and not the toolkit, wrote the spec of the
// GPUs: one from cdi generate beside it would take its names away.
func (s Specs) onlyForeign() bool {
	return s.hasKind(gpuKind) && !slices.ContainsFunc(s.Ours, func(o Spec) bool { return o.Kind == gpuKind })
}

// hasSpec reports whether there is a spec of the GPUs, or of slices if no GPU can be
// given as a whole.
func (f *Facts) hasSpec() bool {
	return f.Specs.hasKind(gpuKind) ||
		(f.Specs.hasKind(cdi.Kind(cdi.DefaultVendor, cdi.SliceClass)) && len(f.Specs.Names) == 0)
}

// generateStep is cdi generate with the options with which the existing spec was
// written.
func (f *Facts) generateStep(args ...string) Step {
	args = append([]string{"cdi", "generate"}, args...)
	i := slices.IndexFunc(f.Specs.Ours, func(o Spec) bool { return o.Kind == gpuKind })
	if i < 0 {
		return f.toolkitStep(args...)
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
	return f.toolkitStep(args...)
}

// onlyOneProgram ends the advice about names that two programs define. Which one the user
// wants, nobody else knows.
const onlyOneProgram = " is another program's: stop one of the two programs, then remove its file"

var specChecks = []Check{
	{
		ID: "spec-dirs", Title: "the directories of CDI specs exist", applies: (*Facts).hasEngine,
		run: func(f *Facts, found *findings) {
			if len(f.Specs.Missing) == 0 || len(f.Engines.allInstalled()) == 0 {
				return
			}
			var steps []Step
			for _, dir := range f.Specs.Missing {
				steps = append(steps, Step{Directory: f.localPath(dir)})
			}
			found.addSafe(Warning, shortList(f.Specs.Missing)+": no such directory",
				"a daemon that starts before the directory exists may never read it", steps...)
		},
	},
	{
		ID: "spec-present", Title: "there is a CDI spec of the GPUs", applies: (*Facts).driverUp,
		run: func(f *Facts, found *findings) {
			if f.driverUp() && !f.hasSpec() && !f.ourFileBroken() {
				found.addSafe(Error, fmt.Sprintf("no CDI spec of kind %s in %s", gpuKind, strings.Join(f.Specs.Dirs, ", ")),
					"no engine can resolve the CDI names of the GPUs", f.generateStep())
			}
			if f.Specs.onlyForeign() {
				at := f.Specs.Files[slices.IndexFunc(f.Specs.Files,
					func(file cdi.File) bool { return file.Kind == gpuKind && file.IsForeign() })].Path
				found.add(Warning, fmt.Sprintf("the only CDI spec of kind %s, %s, is another program's", gpuKind, f.localPath(at)),
					"the toolkit does not keep it up to date, and it may lack names", "# "+f.localPath(at)+onlyOneProgram+"; then: "+
						f.ctkCommand("cdi", "generate"))
			}
		},
	},
	checkEach("spec-readable", "everyone can read the CDI specs", (*Facts).hasSpecFiles,
		func(f *Facts) []cdi.Problem { return f.Specs.Problems() }, func(f *Facts, p cdi.Problem, found *findings) {
			if p.Code != cdi.CodePermission {
				return
			}
			why := "an engine that does not run as root, such as rootless Podman, cannot use it"
			if i := slices.IndexFunc(f.Specs.Files, func(file cdi.File) bool {
				return f.localPath(file.Path) == p.Subject ||
					file.Path == p.Subject
			}); i >= 0 && isOurKind(f.Specs.Files[i].Kind) && !f.Specs.Files[i].IsForeign() {
				found.addSafe(Error, p.String(), why, Step{Chmod: f.localPath(f.Specs.Files[i].Path), Mode: 0o644})
				return
			}
			found.add(Warning, p.String(), why, "chmod 0644 "+dockerargs.QuoteWord(p.Subject))
		}),
	{
		ID: "spec-writable", Title: "only root can write a CDI spec or its directory",
		applies: func(f *Facts) bool { return len(f.Specs.Dirs) > len(f.Specs.Missing) }, run: func(f *Facts,
			found *findings,
		) {
			f.addDangers(found, cdi.CodeWritable,
				"a spec says what engines mount and run as root; metax-runtime and metax-hook refuse this one",
				func(at string) string { return "chown root:root " + at + " && chmod go-w " + at })
		},
	},
	{
		ID: "spec-kind", Title: "no CDI spec has a kind that crashes an engine", applies: (*Facts).hasSpecFiles,
		run: func(f *Facts, found *findings) {
			f.addDangers(found, cdi.CodeName, "the engine crashes when it reads the spec, whichever device a container requests",
				func(at string) string { return "mv " + at + " " + at + ".broken" })
		},
	},
	checkEach("spec-form", "every CDI spec can be used by engines", (*Facts).hasSpecFiles,
		func(f *Facts) []cdi.File { return f.Specs.Files }, func(f *Facts, file cdi.File, found *findings) {
			if file.Error == "" {
				return
			}
			what, why := fmt.Sprintf("%s: %s", f.localPath(file.Path),
				file.Error), "some engines refuse every CDI device while one file is broken"
			if path.Base(file.Path) == gpuFile && path.Dir(file.Path) == cdi.DynamicDir && f.driverUp() {
				found.add(Error, what, why,
					fmt.Sprintf("rm %s && %s", dockerargs.QuoteWord(f.localPath(file.Path)), f.generateStep().String()))
				return
			}
			found.add(Error, what, why, fmt.Sprintf("mv %s %s.broken", dockerargs.QuoteWord(f.localPath(file.Path)),
				dockerargs.QuoteWord(f.localPath(file.Path))))
		}),
	{
		ID: "spec-conflict", Title: "no device name is defined in two files of one directory", applies: (*Facts).hasSpecFiles,
		run: func(f *Facts, found *findings) {
			seen := map[string]bool{}
			for _, d := range f.Specs.Devices {
				key := strings.Join(d.Conflict, " ")
				if len(d.Conflict) == 0 || seen[key] {
					continue
				}
				seen[key] = true
				what, why := fmt.Sprintf("%s both define %s", strings.Join(d.Conflict, " and "),
					d.Name), "no engine resolves such a name"
				if i := slices.IndexFunc(d.Conflict, f.Specs.isForeign); i >= 0 {
					found.add(Error, what, why, "# "+f.localPath(d.Conflict[i])+onlyOneProgram)
					continue
				}
				found.add(Error, what, why, "rm "+dockerargs.QuoteWord(f.localPath(f.strayFile(d.Conflict))))
			}
		},
	},
	{
		ID: "spec-shadowed", Title: "no CDI spec overrides another one with other content", applies: (*Facts).hasSpecFiles,
		run: func(f *Facts, found *findings) {
			seen := map[string]bool{}
			for _, d := range f.Specs.Devices {
				for _, below := range d.Shadowed {
					if seen[d.File+below] || f.sameContent(d.File, below) {
						continue
					}
					seen[d.File+below] = true
					what, why, fix := fmt.Sprintf("%s also defines %s, but %s wins", below, d.Name,
						d.File), "changes in the first file have no effect", "rm "+dockerargs.QuoteWord(f.localPath(below))
					if f.Specs.isForeign(below) || f.Specs.isForeign(d.File) {
						why, fix = "two programs define the names, and containers get what the second file says", "# one of them"+
							onlyOneProgram
					}
					found.add(Warning, what, why, fix)
				}
			}
		},
	},
	checkEach("spec-drift", "the CDI specs are up to date", ifCollected("drift of CDI specs", (*Facts).hasOurSpecs),
		(*Facts).ourSpecs, func(f *Facts, o Spec, found *findings) {
			n := len(o.Drift)
			if n == 0 && !o.Removed {
				return
			}
			what := fmt.Sprintf("%s: the node has nothing of kind %s any more", f.localPath(o.Path), o.Kind)
			if n > 0 {
				what = fmt.Sprintf("the CDI spec %s is out of date (%s, first: %s)", f.localPath(o.Path),
					wording.Count(n, "difference"), o.Drift[0].Text())
			}
			why := "containers get what was right when the spec was written: paths of an older driver, or not all GPUs"
			step := f.generateStep()
			if _, class, _ := strings.Cut(o.Kind, "/"); o.Path != cdi.Path(cdi.DefaultVendor, class, cdi.JSON) {
				step = f.generateStep("--class", class, "--output", f.localPath(o.Path))
			}
			f.addRegenerate(found, Error, what, why, step)
		}),
	{
		ID: "spec-hooks", Title: "the hooks in CDI specs can be trusted", applies: (*Facts).hasOurSpecs,
		run: func(f *Facts, found *findings) {
			f.addProblems(found, "containers with this device do not start, or another user can run a program as root",
				cdi.CodeHook, cdi.CodeHookEnv)
		},
	},
	{
		ID: "spec-files", Title: "the files that CDI specs name exist",
		applies: func(f *Facts) bool { return f.driverUp() && f.hasOurSpecs() }, run: func(f *Facts, found *findings) {
			if !f.driverUp() {
				return // another check reports why nodes are missing
			}
			f.addProblems(found, "containers with this device do not start", cdi.CodeNode, cdi.CodeMount, cdi.CodeNumbers,
				cdi.CodePath, cdi.CodeText, cdi.CodeOutside)
		},
	},
	{
		ID: "spec-groups", Title: "the CDI spec has the groups of the device nodes",
		applies: func(f *Facts) bool { return f.Specs.hasKind(gpuKind) }, run: func(f *Facts, found *findings) {
			i := slices.IndexFunc(f.Specs.Ours, func(o Spec) bool { return o.Kind == gpuKind })
			if i < 0 || f.Specs.Ours[i].Groups ||
				!slices.ContainsFunc(f.Node.GPUs, func(g gpu.GPU) bool { return len(g.GIDs) > 0 }) {
				return
			}
			if p := f.Engines.Podman; p.There() && p.Version.Before(5, 0) {
				return // Podman before 5.0 rejects a spec with groups
			}
			found.add(Info, f.localPath(f.Specs.Ours[i].Path)+" was written without groups",
				"in a container, users other than root may need --group-add", f.ctkCommand("cdi", "generate"))
		},
	},
}

// addDangers adds the problems of spec files and directories that have a code, each
// with the command that fixes it.
func (f *Facts) addDangers(found *findings, code, why string, fix func(at string) string) {
	for _, p := range f.Specs.Problems() {
		if p.Code == code {
			p.Subject = f.localPath(p.Subject)
			found.add(Error, p.String(), why, fix(dockerargs.QuoteWord(p.Subject)))
		}
	}
}

// addRegenerate adds a finding that cdi generate fixes. It is safe unless GPUs would
// vanish from a spec, as they may be missing only for a moment, or another program's spec
// would lose its names.
func (f *Facts) addRegenerate(found *findings, s Severity, what, why string, step Step) {
	shrinks := func(o Spec) bool {
		return o.Removed ||
			slices.ContainsFunc(o.Drift, func(d cdi.Difference) bool { return d.Op == cdi.Removed && d.Field == "" })
	}
	if slices.ContainsFunc(f.Specs.Ours, shrinks) || f.Specs.onlyForeign() {
		found.add(s, what, why, step.String())
		return
	}
	found.addSafe(s, what, why, step)
}

// sameContent reports whether two files have the same content.
func (f *Facts) sameContent(wins, below string) bool {
	i := slices.IndexFunc(f.Specs.Ours, func(o Spec) bool { return o.Path == wins })
	return i >= 0 && slices.Contains(f.Specs.Ours[i].Same, below)
}

// strayFile is the file of a conflict that does not have our file's name.
func (f *Facts) strayFile(files []string) string {
	return files[max(0, slices.IndexFunc(files, func(file string) bool { return path.Base(file) != gpuFile }))]
}

// ourFileBroken reports whether our file exists but cannot be used.
func (f *Facts) ourFileBroken() bool {
	return slices.ContainsFunc(f.Specs.Files,
		func(file cdi.File) bool { return file.Error != "" && path.Base(file.Path) == gpuFile })
}

// addProblems adds the problems of our specs that have one of the codes, except of
// specs that are out of date: another check has cdi generate rewrite these.
func (f *Facts) addProblems(found *findings, why string, codes ...string) {
	for _, o := range f.Specs.Ours {
		if len(o.Drift) > 0 || o.Removed {
			continue
		}
		for _, p := range o.Problems {
			if slices.Contains(codes, p.Code) {
				found.add(Error, fmt.Sprintf("%s: %s", f.localPath(o.Path), p), why, f.problemFix(p))
			}
		}
	}
}

func (f *Facts) problemFix(p cdi.Problem) string {
	if p.Writable {
		return fmt.Sprintf("chown root %s && chmod 0755 %s", dockerargs.QuoteWord(p.Subject), dockerargs.QuoteWord(p.Subject))
	}
	return f.generateStep().String()
}

var resolveChecks = []Check{
	checkEach("spec-version", "every engine reads the version of the CDI specs",
		func(f *Facts) bool {
			return f.hasEngine() &&
				f.hasOurSpecs()
		}, (*Facts).ourSpecs, func(f *Facts, o Spec, found *findings) {
			if p := f.Engines.Podman; p.There() && p.Version.Before(5, 0) && engine.ParseVersion(o.Version).AtLeast(0, 6) {
				found.add(Error, fmt.Sprintf("%s has CDI version %s, but podman %s reads only up to 0.5.0", f.localPath(o.Path),
					o.Version, p.Version),
					"the engine rejects the whole file", f.ctkCommand("cdi", "generate", "--no-groups"))
			}
		}),
	{
		ID: "cdi-names", Title: "every engine resolves the CDI names of the GPUs",
		applies: func(f *Facts) bool { return f.hasEngine() && f.Specs.hasKind(gpuKind) }, run: func(f *Facts,
			found *findings,
		) {
			if !f.Specs.hasKind(gpuKind) {
				return
			}
			for _, e := range f.Engines.allInstalled() {
				dirs, own := f.dirsOf(e)
				names := f.Specs.Unresolved[e.Name]
				if len(names) == 0 || (!own && f.hasReportedFault()) {
					continue
				}
				found.add(Error, fmt.Sprintf("%s reads CDI specs in %s and does not resolve %s", e.Name, strings.Join(dirs, ", "),
					shortList(names)),
					"containers that request one of these do not start", f.generateStep("--output",
						path.Join(f.localPath(dirs[len(dirs)-1]), gpuFile)).String())
			}
		},
	},
}

// hasReportedFault reports whether a spec has a fault that another check reports.
func (f *Facts) hasReportedFault() bool {
	return f.Specs.onlyForeign() ||
		slices.ContainsFunc(f.Specs.Ours, func(o Spec) bool { return len(o.Drift) > 0 || o.Removed }) ||
		slices.ContainsFunc(f.Specs.Devices, func(d cdi.Device) bool { return len(d.Conflict) > 0 })
}

// dirsOf returns the directories of specs that an engine reads, in ascending priority,
// and whether they differ from the standard ones.
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

// hasSpecIn reports whether one of the directories has a spec of the GPUs.
func (f *Facts) hasSpecIn(dirs []string) bool {
	return slices.ContainsFunc(f.Specs.Ours, func(o Spec) bool {
		at := path.Dir(o.Path)
		return o.Kind == gpuKind &&
			slices.ContainsFunc(dirs, func(dir string) bool { return canonicalDir(dir) == canonicalDir(at) })
	})
}

// canonicalDir is a directory's name below /run, to which /var/run is a link.
func canonicalDir(dir string) string {
	if below, ok := strings.CutPrefix(path.Clean(dir), "/var/run/"); ok {
		return "/run/" + below
	}
	return path.Clean(dir)
}
