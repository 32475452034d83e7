package config

import (
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/alloc"
)

// Kind is what the value of a setting is.
type Kind string

// The kinds. Table is a list of tables, which one line cannot set.
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
	// Env is the environment variable, Option the option of metax-ctk or
	// metax-docker that go before the file; empty where there is none.
	Env, Option string
	// Default is the value as words: one of a text or a switch ("true"), any number
	// of a list. Of a setting without one it is nil.
	Default []string
	// Allowed says what a word may be, as part of a message.
	Allowed string
	// Use is one sentence on what the setting does.
	Use string
	// Example are the lines of the default file for a setting without a default.
	Example []string

	// relative says that a path may be relative outside the file, where there is a
	// working directory.
	relative bool
	// some says that a list may not be empty.
	some bool
	// good judges one word; nil takes any but the empty one.
	good func(word string) bool
	// text is where Load puts the words, with commas between them.
	text func(*Config) *Value
}

// requirements is the key of the one table.
const requirements = "maca.requirements"

// settings are all of them, in the order of the default file.
var settings = []Setting{
	{
		Key: "node", Kind: Text, Env: "METAX_CTK_NODE", Option: "--node", Default: []string{"host"},
		Allowed: `"host", the name of a simulated node, or a file`,
		Use:     "The node to look at.",
		text:    func(c *Config) *Value { return &c.Node },
	},
	{
		Key: "root", Kind: Text, Env: "METAX_CTK_ROOT", Option: "--root", Default: []string{"/"},
		Allowed: "an absolute path", good: absolute, relative: true,
		Use:  "The directory that stands for the host's root directory.",
		text: func(c *Config) *Value { return &c.Root },
	},
	{
		Key: "docker.client", Kind: Text, Env: "METAX_CTK_DOCKER", Default: []string{"docker"},
		Allowed: "a name or an absolute path", good: program, relative: true,
		Use:  "The docker-compatible client that metax-docker runs.",
		text: func(c *Config) *Value { return &c.DockerClient },
	},
	{
		Key: "docker.inject", Kind: Text, Env: "METAX_CTK_INJECT", Option: "--inject", Default: []string{"auto"},
		Allowed: "auto, cdi or flags", good: oneOf("auto", "cdi", "flags"),
		Use:  "How metax-docker gives GPUs to a container: by CDI, by plain flags, or by CDI where the engine can.",
		text: func(c *Config) *Value { return &c.DockerInject },
	},
	{
		Key: "gpus.policy", Kind: Text, Env: "METAX_CTK_GPUS_POLICY", Option: "--gpus-policy", Default: []string{"spread"},
		Allowed: alloc.PolicyWords, good: policy,
		Use:  "The policy by which GPUs are picked.",
		text: func(c *Config) *Value { return &c.Policy },
	},
	{
		Key: "gpus.ignore", Kind: List, Env: "METAX_CTK_GPUS_IGNORE", Option: "--gpus-ignore", Default: []string{"mx-smi", "mx-exporter"},
		Allowed: "names without commas", good: plain,
		Use:  "Programs, containers and images that look at GPUs without using them.",
		text: func(c *Config) *Value { return &c.Ignore },
	},
	{
		Key: "gpus.wait-max", Kind: Text, Default: []string{"24h"},
		Allowed: "a time such as 30m or 24h", good: period,
		Use:  "How long any request may wait for GPUs; --gpus-wait of more waits this long.",
		text: func(c *Config) *Value { return &c.WaitMax },
	},
	{
		Key: "maca.check", Kind: Text, Env: "METAX_CTK_MACA_CHECK", Option: "--maca-check",
		Allowed: "off, warn or strict", good: oneOf("off", "warn", "strict"),
		Use:     "What metax-docker does if the MXMACA of an image does not fit the driver; unset, it warns about containers that ask for MXMACA.",
		Example: []string{`check = "warn"`},
		text:    func(c *Config) *Value { return &c.MACA.Check },
	},
	{
		Key: "maca.labels", Kind: List, Default: []string{"metax-tech.com/maca.version"},
		Allowed: "at least one label", some: true,
		Use: "Labels of an image that may state the version of its MXMACA; the first that is there counts.",
	},
	{
		Key: requirements, Kind: Table,
		Allowed: "tables with maca, driver and why",
		Use:     "Which driver a version of MXMACA needs, in place of the table that the programs bring.",
		Example: []string{"[[maca.requirements]]", `maca = "3"`, `driver = "3"`, `why = "as the release notes say"`},
	},
	{
		Key: "runtime.runtimes", Kind: List, Default: []string{"runc", "crun"},
		Allowed: "at least one name or absolute path", good: program, some: true,
		Use: "The low-level runtimes of metax-runtime; the first that is there is used.",
	},
	{
		Key: "runtime.spec-dirs", Kind: List, Default: []string{"/etc/cdi", "/var/run/cdi"},
		Allowed: "at least one absolute path", good: absolute, some: true,
		Use: "The directories of CDI specs for metax-runtime, in ascending priority.",
	},
	{
		Key: "runtime.accept-environment", Kind: Switch, Default: []string{"false"},
		Allowed: "true or false", good: oneOf("true", "false"),
		Use: "Whether METAX_VISIBLE_DEVICES in the environment of a privileged container may ask metax-runtime for GPUs.",
	},
	{
		Key: "runtime.accept-environment-unprivileged", Kind: Switch, Default: []string{"false"},
		Allowed: "true or false", good: oneOf("true", "false"),
		Use: "The same for any container: whoever made its image then has every GPU.",
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

// allows judges one word.
func (s Setting) allows(word string) bool {
	if s.good == nil {
		return word != ""
	}
	return s.good(word)
}

// isSection reports whether a key is that of a section.
func isSection(key string) bool {
	return slices.ContainsFunc(settings, func(s Setting) bool { return s.Section() == key && key != "" })
}
