package dockerargs

import "strconv"

// Flag is one flag as it stands on a command line.
type Flag struct {
	Name     string // the long name; a letter is given its long name
	Value    string // "true" for a boolean that states no value
	HasValue bool   // whether the value is stated
	// At and Words are the place of the flag: its first word and how many words
	// it is written in. Letters of one cluster ("-it") share theirs.
	At, Words int
}

// Flags are flags in the order given.
type Flags []Flag

// Last returns the value of the last flag with this long name, the one that
// counts for docker's flags of a single value.
func (f Flags) Last(name string) (value string, ok bool) {
	for i := len(f) - 1; i >= 0; i-- {
		if f[i].Name == name {
			return f[i].Value, true
		}
	}
	return "", false
}

// Has reports whether the flag is given at all.
func (f Flags) Has(name string) bool {
	_, ok := f.Last(name)
	return ok
}

// True reports whether a boolean flag is given and on: --rm, but not --rm=false.
func (f Flags) True(name string) bool {
	value, _ := f.Last(name)
	on, err := strconv.ParseBool(value)
	return err == nil && on
}
