// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/compat"
)

// Path is the configuration file of a host.
const Path = "/etc/metax-container-toolkit/config.toml"

// Value is a setting with its origin, for messages: "default", "METAX_CTK_…", or the file.
type Value struct {
	Text   string
	Origin string
}

// Set overrides the value, unless text is empty.
func (v *Value) Set(text, origin string) {
	if text != "" {
		*v = Value{text, origin}
	}
}

// Config is the settings.
type Config struct {
	// DockerClient is the docker-compatible client to run: a name or a path.
	DockerClient Value
	// DockerInject is how GPUs enter a container: "auto", "cdi" or "flags".
	DockerInject Value
	// Policy is the policy by which GPUs are picked.
	Policy Value
	// Scope limits how far apart the GPUs of a container may be, and Sizes is the rule for
	// unusual numbers of them.
	Scope, Sizes Value
	// Ignore has, with commas, the programs, containers and images that open GPUs only
	// to monitor them.
	Ignore Value
	// WaitMax is the maximum time that a request may wait, in the format of
	// time.ParseDuration.
	WaitMax Value
	// Kubelet is the socket of the kubelet that lists the devices of pods, or KubeletOff.
	Kubelet Value
	// MPS is "off" if containers that share GPUs get no MACA_MPS_MODE.
	MPS Value
	// Node and Root choose the node, like the options --node and --root.
	Node, Root Value
	// HealthExec is the program that is run after the health of GPUs has changed, an absolute
	// path or nothing.
	HealthExec Value
	// MACA is the section [maca].
	MACA MACA
	// Log is the section [log].
	Log Log
}

// Log is the section [log]: one of LogLevels, one of LogFormats, and an absolute path or
// nothing.
type Log struct{ Level, Format, File Value }

// Waits returns the maximum time that a request may wait; the error names the origin of
// an invalid value.
func (c Config) Waits() (time.Duration, error) {
	d, err := time.ParseDuration(c.WaitMax.Text)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("gpus.wait-max %q (from %s): want a time such as 30m or 24h", c.WaitMax.Text, c.WaitMax.Origin)
	}
	return d, nil
}

// Load merges the defaults, the configuration file at path with this text (nil if there
// is none), and the environment. An invalid file is an *Error. Values from the
// envValue are checked where they are used.
func Load(path string, text []byte, getenv func(string) string) (Config, error) {
	items, problems := parseFile(text)
	maps.DeleteFunc(items, func(key string, _ item) bool {
		return slices.ContainsFunc(problems, func(p Problem) bool { return p.Concerns(key) })
	})
	var c Config
	for _, s := range settings {
		if s.text == nil {
			continue
		}
		v := Value{strings.Join(s.Default, ","), "default"}
		if i, ok := items[s.Key]; ok {
			v = Value{strings.Join(i.words, ","), path}
		}
		if s.Env != "" {
			v.Set(getenv(s.Env), s.Env)
		}
		*s.text(&c) = v
	}
	c.MACA.Labels = listSetting(items, "maca.labels")
	c.MACA.Requirements = items[requirements].rows
	if len(problems) > 0 {
		return c, &Error{path, problems}
	}
	return c, nil
}

// The values of maca.default.
const (
	MACAOff  = "off"
	MACAAuto = "auto"
)

// MACA is the section [maca]: which containers get the host's MXMACA, and how the version
// that a container uses is checked against the host's driver.
type MACA struct {
	// Default is MACAAuto to give the host's MXMACA with GPUs to images that have none, or
	// MACAOff. If it is not set, it is off, and metax-docker names --maca.
	Default Value
	// Check is "off", "warn" or "strict". If it is not set, containers that request
	// MXMACA are checked with "warn", and others are not checked.
	Check Value
	// Labels are the labels of an image that may have the version of its MXMACA; the
	// first one that the image has counts.
	Labels []string
	// Requirements replace the program's built-in table; nil stands for the built-in
	// table.
	Requirements []Requirement
}

// Requirement is one row of the table [[maca.requirements]].
type Requirement = compat.Rule

// Rules returns the effective table.
func (m MACA) Rules() []compat.Rule {
	if m.Requirements == nil {
		return compat.Defaults()
	}
	return m.Requirements
}

// Runtime is the settings of the OCI runtime shim: the section [runtime], and MACA. They come
// from the file only, because the environment in which an engine starts a runtime
// varies.
type Runtime struct {
	// Runtimes are the low-level runtimes, by name or absolute path; the first one that
	// exists is used.
	Runtimes []string
	// SpecDirs are the directories of CDI specs, in ascending priority.
	SpecDirs []string
	// AcceptEnvironment allows METAX_VISIBLE_DEVICES in the environment of a privileged
	// container to request GPUs; AcceptEnvironmentUnprivileged allows it for any
	// container.
	AcceptEnvironment, AcceptEnvironmentUnprivileged bool
	// MACA reports whether containers with GPUs get the host's MXMACA, unless they have
	// their own: maca.default is MACAAuto.
	MACA bool
	// Log is the section [log] of the file.
	Log Log
}

// runtimeSettings are the keys of a Runtime.
var runtimeSettings = []string{
	"runtime.runtimes", "runtime.spec-dirs", "runtime.accept-environment", "runtime.accept-environment-unprivileged",
	"maca.default", "log.level", "log.format", "log.file",
}

// LoadRuntime returns the shim's settings in the configuration file at path, or the
// defaults if text is nil. Only what is wrong with these settings is an error: a mistake in
// another one must not keep containers from starting.
func LoadRuntime(path string, text []byte) (Runtime, error) {
	items, problems := parseFile(text)
	problems = slices.DeleteFunc(problems,
		func(p Problem) bool { return !slices.ContainsFunc(runtimeSettings, p.Concerns) })
	if len(problems) > 0 {
		return Runtime{}, &Error{path, problems}
	}
	on := func(key string) bool { return listSetting(items, key)[0] == "true" }
	word := func(key string) Value { return Value{strings.Join(listSetting(items, key), ","), path} }
	return Runtime{
		Log:                           Log{word("log.level"), word("log.format"), word("log.file")},
		Runtimes:                      listSetting(items, "runtime.runtimes"),
		SpecDirs:                      listSetting(items, "runtime.spec-dirs"),
		AcceptEnvironment:             on("runtime.accept-environment"),
		AcceptEnvironmentUnprivileged: on("runtime.accept-environment-unprivileged"),
		MACA:                          slices.Equal(listSetting(items, "maca.default"), []string{MACAAuto}),
	}, nil
}

// listSetting is the value of a setting that only the file has.
func listSetting(items map[string]item, key string) []string {
	if i, ok := items[key]; ok {
		return i.words
	}
	s, _ := Find(key)
	return s.Default
}
