// SPDX-License-Identifier: Apache-2.0

package runc

import "strings"

// Call is a parsed command line of a low-level runtime.
type Call struct {
	// Verb is the OCI command, such as "create"; empty if there is none, or if the line
	// only requests help or the version.
	Verb string
	// ID is the container that create, run or restore makes: the first word after the
	// verb that belongs to no flag. With other verbs ID, Bundle and Config have their
	// defaults.
	ID string
	// Bundle is the directory of the bundle, "." by default.
	Bundle string
	// Config is the file that crun's --config names instead of the bundle's own; empty
	// if there is none. It is not relative to the bundle.
	Config string
	// Log is the runtime's own log file, empty if it is standard error; LogFormat is
	// "json", "text", or empty if the line does not set it.
	Log, LogFormat string
}

// knownVerbs are the commands that the runtimes have in common. Words between an
// unknown flag and the first of these count as the flag's value.
const knownVerbs = " checkpoint create delete events exec features kill list pause ps restore resume run spec start state update "

// Flags that take a value, long and short: the global ones, and those of create, run
// and restore. Any other flag counts as one without a value, unless it has a "=".
const (
	globalValues = " cgroup-manager criu debug-log debug-log-format log log-format log-level platform root rootless l r "
	createValues = " bundle config console console-socket exec-fd pass-fd pid-file pidfd-socket preserve-fds user-log b c f p " +
		"empty-ns image-path lsm-mount-context lsm-profile manage-cgroups-mode status-fd work-path "
)

// Scan parses a command line without its first word, the program. It follows the flag
// parsers of all four runtimes where they agree: flags may also follow the container's
// id, and the last of equal flags counts. It has no errors, because the runtime itself
// refuses what it does not accept.
func Scan(args []string) Call {
	c := Call{Bundle: "."}
	s := scanner{words: args, values: globalValues}
	for unknown := false; c.Verb == ""; {
		name, value, ok := s.nextArgument()
		switch {
		case !ok || (name == "" && value == ""):
			return c
		case name == "":
			if !unknown || s.ended || containsWord(knownVerbs, value) {
				c.Verb = value
			}
		case asksHelp(name) || name == "version" || name == "v" || name == "V":
			return c
		default:
			c.setGlobal(name, value)
			unknown = unknown || !s.known
		}
	}
	if !c.Makes() {
		return c
	}
	s.values, s.ended = createValues, false
	for {
		name, value, ok := s.nextArgument()
		switch {
		case !ok:
			return c
		case name == "":
			if c.ID == "" {
				c.ID = value
			}
		case asksHelp(name):
			c.Verb = ""
			return c
		case name == "bundle" || name == "b":
			c.Bundle = value
			if value == "" {
				c.Bundle = "." // as runc and crun do
			}
		case name == "config" || name == "f":
			c.Config = value
		}
	}
}

// Makes reports whether the call makes a container from a bundle.
func (c Call) Makes() bool { return containsWord(" create run restore ", c.Verb) }

// File is the path of the configuration of the container that the call makes.
func (c Call) File() string {
	if c.Config != "" {
		return c.Config
	}
	return c.Bundle + "/config.json" // not cleaned: ".." after a link leads elsewhere
}

func (c *Call) setGlobal(name, value string) {
	switch name {
	case "log", "l":
		c.Log = value
	case "log-format":
		c.LogFormat = value
	}
}

func asksHelp(name string) bool {
	return name == "help" || name == "h" || name == "?" || name == "usage"
}

// containsWord reports whether a list of words between spaces contains word.
func containsWord(list, word string) bool {
	return word != "" && strings.IndexByte(word, ' ') < 0 && strings.Contains(list, " "+word+" ")
}
