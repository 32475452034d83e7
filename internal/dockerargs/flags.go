package dockerargs

import "strconv"

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

// Has reports whether the flag is given.
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
