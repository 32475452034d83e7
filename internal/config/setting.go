// SPDX-License-Identifier: Apache-2.0

package config

import (
	"slices"
	"strings"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/alloc"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// Kind is what the value of a setting is.
type Kind string

// The kinds. Table is a list of tables, which cannot be set on one line.
const (
	Text   Kind = "text"
	List   Kind = "list"
	Switch Kind = "switch"
	Table  Kind = "table"
)

// Setting is one key of the configuration file.
type Setting struct {
	// Key is the dotted key, "docker.client"; its first part is the section.
	Key  string
	Kind Kind
	// Env is the environment variable and Option the option of metax-ctk or
	// metax-docker that override the file; empty if there is none.
	Env, Option string
	// Default is the default value as words: one for a text or a switch ("true"), any
	// number for a list; nil if there is no default.
	Default []string
	// Allowed describes a valid word, as part of a message.
	Allowed string
	// Use is one sentence on what the setting does.
	Use string
	// Example are the lines of the default file for a setting without a default.
	Example []string

	// relative reports whether a path may be relative outside of the file.
	relative bool
	// notEmpty reports whether a list must not be empty.
	notEmpty bool
	// words are the known words, which alone are valid if valid is nil; nil if there are
	// none to list.
	words []string
	// valid checks one word; nil accepts any of words, or any except the empty one.
	valid func(word string) bool
	// text is the field in which Load puts the words, separated by commas.
	text func(*Config) *Value
}

// LogOff is the level of a log that is not written.
const LogOff = "off"

// LogLevels and LogFormats are the valid words of log.level and log.format.
var (
	LogLevels  = []string{LogOff, "error", "warn", "info"}
	LogFormats = []string{"text", "json"}
)

// KubeletOff is the word of gpus.kubelet for not asking the kubelet.
const KubeletOff = "off"

// requirements is the key of the only table.
const requirements = "maca.requirements"

// settings are all settings, in the order of the default file.
var settings = []Setting{
	{
		Key: "node", Kind: Text, Env: "METAX_CTK_NODE", Option: "--node", Default: []string{"host"},
		Allowed: `"host", the name of a simulated node, or a file`,
		Use:     "The node that the commands work on.",
		text:    func(c *Config) *Value { return &c.Node },
	},
	{
		Key: "root", Kind: Text, Env: "METAX_CTK_ROOT", Option: "--root", Default: []string{"/"},
		Allowed: "an absolute path", valid: isAbsolute, relative: true,
		Use:  "The directory that stands for the host's root directory.",
		text: func(c *Config) *Value { return &c.Root },
	},
	{
		Key: "docker.client", Kind: Text, Env: "METAX_CTK_DOCKER", Default: []string{"docker"},
		Allowed: "a name or an absolute path", valid: isProgram, relative: true,
		Use:  "The docker-compatible client that metax-docker runs.",
		text: func(c *Config) *Value { return &c.DockerClient },
	},
	{
		Key: "docker.inject", Kind: Text, Env: "METAX_CTK_INJECT", Option: "--inject", Default: []string{"auto"},
		Allowed: "auto, cdi or flags", words: []string{"auto", "cdi", "flags"},
		Use:  "How metax-docker injects GPUs: auto (CDI if the daemon lists the devices, else flags), cdi, or flags (plain --device options).",
		text: func(c *Config) *Value { return &c.DockerInject },
	},
	{
		Key: "gpus.policy", Kind: Text, Env: "METAX_CTK_GPUS_POLICY", Option: "--gpus-policy", Default: []string{"spread"},
		Allowed: alloc.PolicyWords, words: alloc.PolicyNames, valid: isPolicy,
		Use:  "The policy by which GPUs are picked.",
		text: func(c *Config) *Value { return &c.Policy },
	},
	{
		Key: "gpus.scope", Kind: Text, Env: "METAX_CTK_GPUS_SCOPE", Option: "--gpus-scope", Default: []string{"any"},
		Allowed: "link, switch, numa, node or any", words: []string{"link", "switch", "numa", "node", "any"},
		Use:  "What the GPUs of a container must share: link (MetaXLink only), switch (PCIe), numa or node; any does not limit them.",
		text: func(c *Config) *Value { return &c.Scope },
	},
	{
		Key: "gpus.sizes", Kind: Text, Env: "METAX_CTK_GPUS_SIZES", Option: "--gpus-sizes", Default: []string{"warn"},
		Allowed: "warn, enforce or off", words: []string{"warn", "enforce", "off"},
		Use:  "What happens if a number of GPUs is not 1, 2, 4 or 8: a warning, an error (enforce), or nothing (off).",
		text: func(c *Config) *Value { return &c.Sizes },
	},
	{
		Key: "gpus.ignore", Kind: List, Env: "METAX_CTK_GPUS_IGNORE", Option: "--gpus-ignore", Default: usage.Monitors(),
		Allowed: "names without commas", valid: hasNoComma,
		Use:  "Programs, containers and images that open GPUs only to monitor them.",
		text: func(c *Config) *Value { return &c.Ignore },
	},
	{
		Key: "gpus.wait-max", Kind: Text, Default: []string{"24h"},
		Allowed: "a time such as 30m or 24h", valid: isDuration,
		Use:  "The longest time that any request may wait for GPUs; a longer --gpus-wait is reduced to it.",
		text: func(c *Config) *Value { return &c.WaitMax },
	},
	{
		Key: "gpus.kubelet", Kind: Text, Env: "METAX_CTK_KUBELET",
		Default: []string{"/var/lib/kubelet/pod-resources/kubelet.sock"},
		Allowed: "an absolute path or off", words: []string{KubeletOff}, valid: isKubelet,
		Use:  "The socket on which the kubelet lists the devices of pods, whose GPUs are in use; off does not ask it.",
		text: func(c *Config) *Value { return &c.Kubelet },
	},
	{
		Key: "gpus.mps", Kind: Text, Env: "METAX_CTK_GPUS_MPS", Default: []string{"on"},
		Allowed: "on or off", words: []string{"on", "off"},
		Use:  "Whether containers that share GPUs (--gpus-share) get MACA_MPS_MODE=1, without which MXMACA lets no second process onto a GPU.",
		text: func(c *Config) *Value { return &c.MPS },
	},
	{
		Key: "health.exec", Kind: Text,
		Allowed: "an absolute path", valid: isAbsolute,
		Use:     "A program that metax-ctk health --refresh runs as root after the health of GPUs has changed, with ADDRESS=CODE of each unhealthy one; only root may be able to replace it.",
		Example: []string{`exec = "/usr/local/sbin/gpu-health"`},
		text:    func(c *Config) *Value { return &c.HealthExec },
	},
	{
		Key: "maca.default", Kind: Text, Env: "METAX_CTK_MACA_DEFAULT",
		Allowed: "off or auto", words: []string{MACAOff, MACAAuto},
		Use:     "Whether containers with GPUs get the host's MXMACA if their image has none (metax-docker run, create and compose; metax-runtime, from this file only); unset, metax-docker names --maca.",
		Example: []string{`default = "auto"`},
		text:    func(c *Config) *Value { return &c.MACA.Default },
	},
	{
		Key: "maca.check", Kind: Text, Env: "METAX_CTK_MACA_CHECK", Option: "--maca-check",
		Allowed: "off, warn or strict", words: []string{"off", "warn", "strict"},
		Use:     "What metax-docker does if the MXMACA of an image does not fit the driver; unset, it warns about containers that request MXMACA.",
		Example: []string{`check = "warn"`},
		text:    func(c *Config) *Value { return &c.MACA.Check },
	},
	{
		Key: "maca.labels", Kind: List, Default: []string{"metax-tech.com/maca.version"},
		Allowed: "at least one label", notEmpty: true,
		Use: "Labels of an image that may have the version of its MXMACA; the first one that the image has counts.",
	},
	{
		Key: requirements, Kind: Table,
		Allowed: "tables with maca, driver and why",
		Use:     "Which driver a version of MXMACA needs; replaces the built-in table.",
		Example: []string{"[[maca.requirements]]", `maca = "3"`, `driver = "3"`, `why = "as the release notes say"`},
	},
	{
		Key: "log.level", Kind: Text, Env: "METAX_CTK_LOG_LEVEL", Option: "--log-level", Default: []string{"off"},
		Allowed: "off, error, warn or info", words: LogLevels,
		Use:  "What metax-ctk, metax-docker and metax-runtime log, for support; off writes nothing.",
		text: func(c *Config) *Value { return &c.Log.Level },
	},
	{
		Key: "log.format", Kind: Text, Env: "METAX_CTK_LOG_FORMAT", Option: "--log-format", Default: []string{"text"},
		Allowed: "text or json", words: LogFormats,
		Use:  "The form of a line of the log.",
		text: func(c *Config) *Value { return &c.Log.Format },
	},
	{
		Key: "log.file", Kind: Text, Env: "METAX_CTK_LOG_FILE", Option: "--log-file",
		Allowed: "an absolute path", valid: isAbsolute,
		Use:     "The file to which the log is appended; unset, it goes to standard error, and metax-runtime logs nothing.",
		Example: []string{`file = "/var/log/metax-container-toolkit.log"`},
		text:    func(c *Config) *Value { return &c.Log.File },
	},
	{
		Key: "runtime.runtimes", Kind: List, Default: []string{"runc", "crun"},
		Allowed: "at least one name or absolute path", valid: isProgram, notEmpty: true,
		Use: "The low-level runtimes of metax-runtime; the first one that exists is used.",
	},
	{
		Key: "runtime.spec-dirs", Kind: List, Default: []string{"/etc/cdi", "/var/run/cdi"},
		Allowed: "at least one absolute path", valid: isAbsolute, notEmpty: true,
		Use: "The directories of CDI specs for metax-runtime, in ascending priority.",
	},
	{
		Key: "runtime.accept-environment", Kind: Switch, Default: []string{"false"},
		Allowed: "true or false", words: []string{"true", "false"},
		Use: "Whether METAX_VISIBLE_DEVICES in the environment of a privileged container may request GPUs from metax-runtime.",
	},
	{
		Key: "runtime.accept-environment-unprivileged", Kind: Switch, Default: []string{"false"},
		Allowed: "true or false", words: []string{"true", "false"},
		Use: "The same for any container. The author of its image can then take every GPU.",
	},
}

// Find returns the setting of a key.
func Find(key string) (Setting, bool) {
	i := slices.IndexFunc(settings, func(s Setting) bool { return s.Key == key })
	if i < 0 {
		return Setting{}, false
	}
	return settings[i], true
}

// Section is the first part of the key, empty for a key at the top.
func (s Setting) Section() string {
	section, _, ok := strings.Cut(s.Key, ".")
	if !ok {
		return ""
	}
	return section
}

// Name is the key within its section.
func (s Setting) Name() string { return s.Key[strings.LastIndexByte(s.Key, '.')+1:] }

// Choices returns the fixed words that the setting takes; empty if it takes any text.
func (s Setting) Choices() []string {
	return slices.DeleteFunc(slices.Clone(s.words), func(word string) bool { return !s.allows(word) })
}

// allows reports whether one word is valid.
func (s Setting) allows(word string) bool {
	switch {
	case s.valid != nil:
		return s.valid(word)
	case s.words != nil:
		return slices.Contains(s.words, word)
	}
	return word != ""
}

// isSection reports whether a key is the name of a section.
func isSection(key string) bool {
	return slices.ContainsFunc(settings, func(s Setting) bool { return s.Section() == key && key != "" })
}

// Checks of one word of a value.

func isAbsolute(word string) bool { return strings.HasPrefix(word, "/") }

// isKubelet accepts the path of a socket, and the word for none.
func isKubelet(word string) bool { return word == KubeletOff || isAbsolute(word) }

// isProgram accepts a name, which is searched for, or an absolute path. A relative path
// would be another program in another directory.
func isProgram(word string) bool {
	return word != "" && (isAbsolute(word) || !strings.Contains(word, "/"))
}

func isPolicy(word string) bool {
	_, err := alloc.ParsePolicy(word)
	return err == nil
}

// isDuration accepts a duration greater than 0.
func isDuration(word string) bool {
	d, err := time.ParseDuration(word)
	return err == nil && d > 0
}

// hasNoComma accepts a word that can be part of a comma-separated list, as in the
// environment.
func hasNoComma(word string) bool { return word != "" && !strings.Contains(word, ",") }
