// Package config holds the settings of the toolkit and where each came from:
// an option on the command line, the environment, the configuration file, or
// the default, in this order of precedence.
//
// It reads bytes and an environment that it is given. What a value means is the
// business of whoever uses it.
package config

import (
	"errors"
	"fmt"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// Path is the configuration file of a host.
const Path = "/etc/metax-container-toolkit/config.toml"

// Value is a setting with its origin, for messages: "default", "METAX_CTK_…",
// or the file.
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
	// Policy is the picker's policy.
	Policy Value
	// Ignore names, with commas, the programs, containers and images that look at
	// GPUs without using them.
	Ignore Value
	// Node and Root choose the node, as the options --node and --root do.
	Node, Root Value
	// MACA is the section [maca].
	MACA MACA
}

// file is the shape of the configuration file.
type file struct {
	Node   string `toml:"node"`
	Root   string `toml:"root"`
	Docker struct {
		Client string `toml:"client"`
		Inject string `toml:"inject"`
	} `toml:"docker"`
	GPUs struct {
		Policy string   `toml:"policy"`
		Ignore []string `toml:"ignore"`
	} `toml:"gpus"`
	MACA    macaSection    `toml:"maca"`
	Runtime runtimeSection `toml:"runtime"`
}

// Load merges the default, the contents of the configuration file at path (nil
// where there is none), and the environment. A key that is not known is an
// error that names it and its line.
func Load(path string, text []byte, getenv func(string) string) (Config, error) {
	f, err := decode(path, text)
	if err != nil {
		return Config{}, err
	}
	var c Config
	for _, s := range []struct {
		to                  *Value
		def, inFile, envVar string
	}{
		{&c.DockerClient, "docker", f.Docker.Client, "METAX_CTK_DOCKER"},
		{&c.DockerInject, "auto", f.Docker.Inject, "METAX_CTK_INJECT"},
		{&c.Policy, "spread", f.GPUs.Policy, "METAX_CTK_GPUS_POLICY"},
		{&c.Ignore, "mx-smi,mx-exporter", strings.Join(f.GPUs.Ignore, ","), "METAX_CTK_GPUS_IGNORE"},
		{&c.Node, "host", f.Node, "METAX_CTK_NODE"},
		{&c.Root, "/", f.Root, "METAX_CTK_ROOT"},
		{&c.MACA.Check, "", f.MACA.Check, "METAX_CTK_MACA_CHECK"},
	} {
		*s.to = Value{s.def, "default"}
		s.to.Set(s.inFile, path)
		s.to.Set(getenv(s.envVar), s.envVar)
	}
	c.MACA.Labels, c.MACA.Requirements = f.MACA.Labels, f.MACA.Requirements
	for _, rule := range c.MACA.Rules() {
		if err := rule.Validate(); err != nil {
			return Config{}, fmt.Errorf("read configuration %s: maca.requirements: %w", path, err)
		}
	}
	return c, nil
}

// decode reads the file; nil text is a file that is not there.
func decode(path string, text []byte) (f file, err error) {
	if text != nil {
		dec := toml.NewDecoder(strings.NewReader(string(text))).DisallowUnknownFields()
		if err := dec.Decode(&f); err != nil {
			return file{}, fmt.Errorf("read configuration %s: %w", path, explain(err))
		}
	}
	return f, nil
}

// explain turns the library's multi-line report into one line.
func explain(err error) error {
	var strict *toml.StrictMissingError
	if errors.As(err, &strict) && len(strict.Errors) > 0 {
		e := strict.Errors[0]
		line, _ := e.Position()
		return fmt.Errorf("line %d: unknown key %q", line, strings.Join(e.Key(), "."))
	}
	var decode *toml.DecodeError
	if errors.As(err, &decode) {
		line, column := decode.Position()
		return fmt.Errorf("line %d, column %d: %w", line, column, err)
	}
	return err
}
