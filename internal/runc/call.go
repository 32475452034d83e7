package runc

import "strings"

// Call is what a command line asks of a low-level runtime.
type Call struct {
	// Verb is the OCI command, such as "create"; empty if there is none, or if
	// the line only asks for help or the version.
	Verb string
	// ID is the container that create, run or restore makes: the first word after the verb
	// that belongs to no flag. With other verbs it, Bundle and Config are as if
	// nothing followed.
	ID string
	// Bundle is the directory of the bundle, "." where the line names none.
	Bundle string
	// Config is the file that crun's --config puts in the place of the bundle's
	// own, empty where it has none. It does not count from the bundle.
	Config string
	// Log is the runtime's own log file, empty where it is standard error;
	// LogFormat is "json", "text", or empty where the line does not say.
	Log, LogFormat string
}

// verbs are the commands that the runtimes have in common. What stands between
// an unknown flag and the first of them is taken for the flag's value.
const verbs = " checkpoint create delete events exec features kill list pause ps restore resume run spec start state update "

// Flags that take a value, long and short: the global ones, and those of create,
// run and restore. Every other flag is taken for one without, unless it has a "=".
const (
	globalValues = " cgroup-manager criu debug-log debug-log-format log log-format log-level platform root rootless l r "
	createValues = " bundle config console console-socket exec-fd pass-fd pid-file pidfd-socket preserve-fds user-log b c f p " +
		"empty-ns image-path lsm-mount-context lsm-profile manage-cgroups-mode status-fd work-path "
)

// Scan reads a command line without its first word, the program. It follows the
// flag libraries of all four runtimes where they agree, so it takes flags after
// the container's id too and gives a value to the last of equal flags. What a
// runtime would refuse is left to it to refuse: Scan has no errors.
func Scan(args []string) Call {
	c := Call{Bundle: "."}
	s := scanner{words: args, values: globalValues}
	for unknown := false; c.Verb == ""; {
		name, value, ok := s.next()
		switch {
		case !ok || name == "" && value == "":
			return c
		case name == "":
			if !unknown || s.ended || has(verbs, value) {
				c.Verb = value
			}
		case asksHelp(name) || name == "version" || name == "v" || name == "V":
			return c
		default:
			c.global(name, value)
			unknown = unknown || !s.known
		}
	}
	if !c.Makes() {
		return c
	}
	s.values, s.ended = createValues, false
	for {
		name, value, ok := s.next()
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
			if c.Bundle = value; value == "" {
				c.Bundle = "." // to runc and crun as well
			}
		case name == "config" || name == "f":
			c.Config = value
		}
	}
}

// Makes reports whether the call makes a container out of a bundle.
func (c Call) Makes() bool { return has(" create run restore ", c.Verb) }

// File is the path of the configuration of the container that the call makes.
func (c Call) File() string {
	if c.Config != "" {
		return c.Config
	}
	return c.Bundle + "/config.json" // not cleaned: ".." after a link is not what it seems
}

func (c *Call) global(name, value string) {
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

// has reports whether a list of words between blanks has word.
func has(list, word string) bool {
	return word != "" && strings.IndexByte(word, ' ') < 0 && strings.Contains(list, " "+word+" ")
}
