package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/internal/backup"
	"github.com/metax-ctk/container-toolkit/internal/engine"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/setup"
)

// configuring is one run of runtime configure.
type configuring struct {
	toolkit
	c     *cli.Context
	host  setup.Host
	store backup.Store
	setup engine.Setup
}

// outcome is what was done about one engine, as -o prints it.
type outcome struct {
	Engine  string `json:"engine"`
	Version string `json:"version,omitempty"`
	Config  string `json:"config"`
	// Aside is why an engine was skipped.
	Aside   string    `json:"aside,omitempty"`
	Changes []changed `json:"changes"`
	// Notes are what the changes do not do.
	Notes []string `json:"notes,omitempty"`
	// Activate is the command that makes the engine read the changes.
	Activate  string        `json:"activate,omitempty"`
	Activated bool          `json:"activated,omitempty"`
	Proofs    []setup.Proof `json:"proofs,omitempty"`
	Error     string        `json:"error,omitempty"`
}

// changed is one file that was, or would be, changed.
type changed struct {
	Path   string `json:"path"`
	Action string `json:"action"` // "made", "changed" or "removed"
	Diff   string `json:"diff,omitempty"`
}

// runtimeName is what every engine takes for the name of a runtime.
var runtimeName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

func (t toolkit) runtimeConfigure(c *cli.Context) error {
	r, err := t.configuring(c)
	if err != nil {
		return err
	}
	list, err := r.engines()
	if err != nil {
		return err
	}
	act := func(e setup.Engine, done *outcome) error { return r.carryOut(e, r.configure, done) }
	switch {
	case c.Bool("remove"):
		act = r.removeAll
	case c.Bool("verify"):
		act = r.verify
	}
	var all []outcome
	var failed []error
	problems := false
	auto := c.String("engine") == "auto"
	for _, e := range list {
		done := outcome{Engine: e.Name, Config: r.host.Root.Join(e.Config), Changes: []changed{}}
		switch {
		case e.SkipReason == "" || c.Bool("remove"): // what was put in by name goes out with the rest
		case auto:
			done.Aside = e.SkipReason
		default:
			done.Notes = append(done.Notes, e.SkipReason)
		}
		if e.Version.Known() {
			done.Version = e.Version.String()
		}
		if e.Unknown != "" && r.setup.CDI && !c.Bool("remove") && !c.Bool("verify") {
			done.Notes = append(done.Notes, e.Unknown)
		}
		if done.Aside == "" {
			if err := act(e, &done); err != nil {
				done.Error = err.Error()
				failed = append(failed, fmt.Errorf("%s: %w", e.Name, explained(err)))
			}
		}
		problems = problems || slices.ContainsFunc(done.Proofs, func(p setup.Proof) bool { return !p.OK && !p.Unknown })
		all = append(all, done)
	}
	err = cmp.Or(t.print(c, all, outcomeText(all, c.Bool("dry-run"))), errors.Join(failed...))
	if err == nil && problems {
		return errProblems
	}
	return err
}

// removeAll takes out the runtime of the name that is given, or else of every name
// that it has.
func (r configuring) removeAll(e setup.Engine, done *outcome) error {
	names := e.OurRuntimes(r.setup)
	if len(names) == 0 || r.c.IsSet("name") {
		names = []string{r.setup.Name}
	}
	for _, name := range names {
		r.setup.Name = name
		if err := r.carryOut(e, r.remove, done); err != nil {
			return err
		}
	}
	return nil
}

// explained adds the next step to an error that has one.
func explained(err error) error {
	if errors.Is(err, fs.ErrPermission) && os.Geteuid() != 0 {
		return fmt.Errorf("%w; run it as root", err)
	}
	return err
}

func (t toolkit) configuring(c *cli.Context) (configuring, error) {
	switch {
	case c.Bool("rollback"):
		return configuring{}, usagef("--rollback is gone: --remove takes out what was put in, and makes the files what they were; to change the set-up, run runtime configure again")
	case c.Bool("remove") && c.Bool("verify"):
		return configuring{}, usagef("--remove and --verify exclude one another")
	case c.Bool("verify") && (c.Bool("dry-run") || c.Bool("restart")):
		return configuring{}, usagef("--verify changes nothing; --dry-run and --restart do not go with it")
	case c.String("engine") == "auto" && (c.IsSet("config") || c.IsSet("engine-version")):
		return configuring{}, usagef("--config and --engine-version are of one engine: name it with --engine")
	case c.IsSet("engine-version") && !engine.ParseVersion(c.String("engine-version")).Known():
		return configuring{}, usagef("--engine-version %q is no version such as 28.5.2", c.String("engine-version"))
	}
	if name := c.String("name"); !runtimeName.MatchString(name) {
		return configuring{}, usagef("--name %q: a name is made of letters, digits, dots, dashes and underscores", name)
	}
	for _, option := range []string{"config", "runtime-path", "hook", "spec-dir"} {
		paths := c.StringSlice(option)
		if option != "spec-dir" {
			paths = []string{c.String(option)}
		}
		for _, p := range paths {
			if c.IsSet(option) && (!path.IsAbs(p) || path.Clean(p) != p || strings.ContainsFunc(p, unicode.IsControl)) {
				return configuring{}, usagef("--%s %q is not an absolute path without detours", option, p)
			}
		}
	}
	if at := t.where(c); !at.IsHost() {
		return configuring{}, usagef("node %q has no engines that could be set up; leave out --node", at.Node)
	}
	root, err := hostfs.New(t.where(c).Root)
	if err != nil {
		return configuring{}, err
	}
	r := configuring{toolkit: t, c: c, host: setup.Host{Root: root, Getenv: os.Getenv}}
	dir := c.String("backup-dir")
	if dir == "" {
		if dir, err = r.host.At(backup.Dir); err != nil {
			return configuring{}, err
		}
	}
	r.store = backup.New(dir)
	r.host.Original = r.store.Original
	if root.Real() {
		r.host.Run = t.Run
		if r.host.Self, err = os.Executable(); err != nil {
			return configuring{}, fmt.Errorf("find metax-ctk: %w", err)
		}
	}
	r.setup = engine.Setup{
		Name: c.String("name"), Default: c.Bool("default"), CDI: c.Bool("cdi"), SpecDirs: c.StringSlice("spec-dir"),
	}
	if r.setup.Runtime, err = r.programPath("runtime-path", "metax-runtime"); err != nil {
		return configuring{}, err
	}
	r.setup.Hook, err = r.programPath("hook", "metax-hook")
	return r, err
}

// programPath is where the engine finds one of our programs: the path that is given,
// beside this program, or below another root where packages put it. An engine that
// starts containers by a program that is not there starts none.
func (r configuring) programPath(option, name string) (string, error) {
	p := r.c.String(option)
	if p == "" {
		p = "/usr/bin/" + name
		if r.host.Root.Real() {
			p = filepath.Join(filepath.Dir(r.host.Self), name)
		}
	}
	if r.c.Bool("remove") {
		return p, nil
	}
	if info, err := r.host.Root.Stat(p); err != nil || !info.Mode.IsRegular() || info.Mode&0o111 == 0 {
		return "", fmt.Errorf("there is no program %s that an engine could run; install it, or name it: --%s PATH", r.host.Root.Join(p), option)
	}
	return p, nil
}

// engines are those that the command line means.
func (r configuring) engines() ([]setup.Engine, error) {
	name := r.c.String("engine")
	if name != "auto" {
		if file := r.c.String("config"); file != "" && r.host.Root.Real() && os.Geteuid() == 0 {
			if err := hostfs.Reach(file); err != nil {
				return nil, fmt.Errorf("--config %s: %w, who could lead root to another file; run it as that user, or name the file by a path of root's", file, err)
			}
		}
		e, err := r.host.Named(r.c.Context, name, setup.Options{
			Config: r.c.String("config"), Version: engine.ParseVersion(r.c.String("engine-version")),
		})
		if errors.Is(err, setup.ErrUnknown) {
			return nil, usageError(err)
		}
		return []setup.Engine{e}, err
	}
	list, err := r.host.Found(r.c.Context)
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("no container engine was found on this host; name it: --engine docker")
	}
	return list, err
}
