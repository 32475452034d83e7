// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/discover"
	"github.com/metax-ctk/container-toolkit/internal/engine"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/terminal"
)

// Platform is what the host runs on. What is unknown is empty.
type Platform struct {
	// Distribution is its name, "Debian GNU/Linux 13 (trixie)".
	Distribution string `json:"distribution,omitempty"`
	// Kernel is the release, "6.1.0-18-amd64".
	Kernel string `json:"kernel,omitempty"`
	// Engines are those that are installed, in a fixed order.
	Engines []PlatformEngine `json:"engines"`
	// Sources are where the facts about the GPUs come from; empty without a GPU.
	Sources []discover.Facts `json:"sources,omitempty"`
}

// PlatformEngine is an engine and the ways by which its containers get GPUs.
type PlatformEngine struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"` // empty if unknown
	// Ways are those that are known to be set up, of "cdi", "flags", "shim" and "hook".
	Ways []string `json:"ways"`
}

func (f *Facts) hostPlatform() Platform {
	p := Platform{
		Distribution: terminal.Line(f.System.Distribution), Kernel: terminal.Line(f.System.Kernel),
		Engines: []PlatformEngine{},
	}
	for _, e := range f.Engines.allInstalled() {
		one := PlatformEngine{Name: e.Name, Ways: f.ways(e)}
		if e.Version.Known() {
			one.Version = e.Version.String()
		}
		p.Engines = append(p.Engines, one)
	}
	p.Sources = f.Node.Sources.ByFact()
	return p
}

// ways are the ways of an engine as it is set up; docs/ways.md has the versions.
func (f *Facts) ways(e Engine) []string {
	ways := []string{}
	if e.Broken != "" {
		return ways
	}
	disabled := e.Name == "containerd" && f.Engines.Containerd.NoCRI
	if e.hasCDI() && !disabled {
		ways = append(ways, "cdi")
	}
	if (e.Name == "docker" && e.Version.AtLeast(19, 3)) || (e.Name == "podman" && e.Version.AtLeast(3, 0)) {
		ways = append(ways, "flags")
	}
	registered := func(name string) bool {
		return path.Base(e.Runtimes[name]) == shim && !slices.Contains(e.Missing, name)
	}
	if slices.ContainsFunc(sortedKeys(e.Runtimes), registered) {
		ways = append(ways, "shim")
	}
	if (e.Name == "podman" && f.hasHook("precreate")) ||
		((e.Name == "podman" || e.Name == "crio") && f.prestartWorks() && f.hasHook("prestart")) {
		ways = append(ways, "hook")
	}
	return ways
}

// hasCDI reports whether the engine's version has CDI, and it is on.
func (e Engine) hasCDI() bool {
	v := e.Version
	switch e.Name {
	case "docker":
		return (v.AtLeast(28, 2) && e.CDI != engine.Off) || (v.AtLeast(25, 0) && e.CDI == engine.On)
	case "containerd":
		return (v.AtLeast(2, 0) && e.CDI != engine.Off) || (v.AtLeast(1, 7) && e.CDI == engine.On)
	case "podman":
		return v.AtLeast(4, 0)
	}
	return e.Name == "crio" && v.AtLeast(1, 23)
}

// hasHook reports whether a hook of that stage is installed.
func (f *Facts) hasHook(stage string) bool {
	return slices.ContainsFunc(f.System.Hooks, func(h HookFile) bool { return h.Runs && slices.Contains(h.Stages, stage) })
}

// prestartWorks reports whether a prestart hook certainly works: on cgroup v2 it needs
// Linux 5.6, which openat2 shows. The calls are tried on this machine only.
func (f *Facts) prestartWorks() bool {
	return f.isThisMachine() && !slices.Contains(f.System.MissingCalls, "openat2")
}

// text is the platform in lines for a person.
func (p Platform) text() string {
	var system []string
	if p.Distribution != "" {
		system = append(system, p.Distribution)
	}
	if p.Kernel != "" {
		system = append(system, "Linux "+p.Kernel)
	}
	var text strings.Builder
	if len(system) > 0 {
		text.WriteString("platform: " + strings.Join(system, ", ") + "\n")
	}
	for _, e := range p.Engines {
		text.WriteString(e.Name + " " + cmp.Or(e.Version, "of unknown version"))
		if len(e.Ways) > 0 {
			text.WriteString(": GPUs by " + strings.Join(e.Ways, ", "))
		}
		text.WriteString("\n")
	}
	for _, s := range p.Sources {
		from := s.Source
		if s.At != "" {
			from += " (" + s.At + ")"
		}
		text.WriteString(terminal.Line(strings.Join(s.Facts, ", ")+" by "+from) + "\n")
	}
	return text.String()
}

// osDistribution is the name in the host's os-release; empty if unknown.
func osDistribution(host *hostfs.Root) string {
	return PrettyName(cmp.Or(readWord(host, "/etc/os-release"), readWord(host, "/usr/lib/os-release")))
}

// PrettyName is the distribution's name in a text of os-release; empty if the text has none.
func PrettyName(release string) string {
	for line := range strings.Lines(release) {
		if name, ok := strings.CutPrefix(line, "PRETTY_NAME="); ok {
			return strings.Trim(strings.TrimSpace(name), `"'`)
		}
	}
	return ""
}
