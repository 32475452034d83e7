// SPDX-License-Identifier: Apache-2.0

package dockerargs

import (
	"path"
	"slices"
	"strconv"
	"strings"
)

// Flag is one flag on a command line.
type Flag struct {
	Name     string // the long name, also for a flag given by its letter
	Value    string // "true" for a boolean without a value
	HasValue bool   // whether a value is given
	// At and Words are the index of the flag's first word and its number of words.
	// Letters in one word ("-it") have the same At.
	At, Words int
}

// Flags are flags in the order of the command line.
type Flags []Flag

// Last returns the value of the last flag with this long name, which is the effective
// one of docker's flags with a single value.
func (f Flags) Last(name string) (value string, ok bool) {
	for i := len(f) - 1; i >= 0; i-- {
		if f[i].Name == name {
			return f[i].Value, true
		}
	}
	return "", false
}

// Values returns the values of a flag, in their order.
func (f Flags) Values(name string) []string {
	var out []string
	for _, flag := range f {
		if flag.Name == name {
			out = append(out, flag.Value)
		}
	}
	return out
}

// Has reports whether the flag is given at all.
func (f Flags) Has(name string) bool {
	_, ok := f.Last(name)
	return ok
}

// True reports whether a boolean flag is given and true: --rm, but not --rm=false.
func (f Flags) True(name string) bool {
	value, _ := f.Last(name)
	on, err := strconv.ParseBool(value)
	return err == nil && on
}

// MountPoints returns where the flags of run mount something in the container.
func (f Flags) MountPoints() []string {
	var all []string
	add := func(at string) {
		if path.IsAbs(at) {
			all = append(all, path.Clean(at))
		}
	}
	for _, flag := range f {
		switch flag.Name {
		case "volume":
			words := strings.Split(flag.Value, ":")
			add(words[min(1, len(words)-1)])
		case "tmpfs":
			at, _, _ := strings.Cut(flag.Value, ":")
			add(at)
		case "mount":
			for field := range strings.SplitSeq(flag.Value, ",") {
				key, value, _ := strings.Cut(field, "=")
				if slices.Contains([]string{"target", "destination", "dst"}, strings.ToLower(key)) {
					add(value)
				}
			}
		}
	}
	return all
}
