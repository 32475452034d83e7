package config

import (
	"fmt"
	"strings"
	"time"
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
	// WaitMax is how long a request may wait, as time.ParseDuration reads it.
	WaitMax Value
	// Node and Root choose the node, as the options --node and --root do.
	Node, Root Value
	// MACA is the section [maca].
	MACA MACA
}

// Waits returns how long a request may wait; the error names where a wrong value
// is from.
func (c Config) Waits() (time.Duration, error) {
	d, err := time.ParseDuration(c.WaitMax.Text)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("gpus.wait-max %q (from %s): want a time such as 30m or 24h", c.WaitMax.Text, c.WaitMax.Origin)
	}
	return d, nil
}

// Load merges the default, the contents of the configuration file at path (nil
// where there is none), and the environment. A file with anything wrong in it is
// an *Error. What the environment says is judged by whoever uses it.
func Load(path string, text []byte, getenv func(string) string) (Config, error) {
	items, problems := read(text)
	if len(problems) > 0 {
		return Config{}, &Error{path, problems}
	}
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
	c.MACA.Labels = list(items, "maca.labels")
	c.MACA.Requirements = items[requirements].rows
	return c, nil
}

// list is the value of a list that is for the file alone.
func list(items map[string]item, key string) []string {
	if i, ok := items[key]; ok {
		return i.words
	}
	s, _ := Find(key)
	return s.Default
}
