// SPDX-License-Identifier: Apache-2.0

package dockerargs

import (
	"errors"
	"strings"
)

// Errors that end the reading of flags.
var (
	// errFault is an error in the command line that the client itself reports.
	errFault = errors.New("fault in the command line")
	// errNoValue is a flag at the end of the line that needs a value; the Flag returned
	// with it has its name.
	errNoValue = errors.New("flag needs an argument")
)

// lexer reads the flags of a command line word by word, by the rules of spf13/pflag
// with interspersed flags off.
type lexer struct {
	words []string
	next  int     // index of the next word
	known []Table // the first one that has a flag defines it
}

// readFlags reads flags up to the first word that is not a flag, or until after "--";
// dashes reports the latter.
func (l *lexer) readFlags() (flags Flags, dashes bool, err error) {
	for l.next < len(l.words) {
		word := l.words[l.next]
		if len(word) < 2 || word[0] != '-' {
			return flags, false, nil
		}
		if word == "--" {
			l.next++
			return flags, true, nil
		}
		var more Flags
		if word[1] == '-' {
			more, err = l.long(word[2:])
		} else {
			more, err = l.cluster(word[1:])
		}
		flags = append(flags, more...)
		if err != nil {
			return flags, false, err
		}
	}
	return flags, false, nil
}

// separateFlags reads flags and separates those in ours, which have no one-letter names, from
// the client's. Our flag without its value is an *OptionError.
func (l *lexer) separateFlags(ours Table) (own, client Flags, dashes bool, err error) {
	read, dashes, err := l.readFlags()
	for i, f := range read {
		switch {
		case !ours.Has(f.Name) || l.words[f.At][1] != '-':
			client = append(client, f)
		case i == len(read)-1 && errors.Is(err, errNoValue):
			return own, client, false, missingValue("--" + f.Name)
		default:
			own = append(own, f)
		}
	}
	return own, client, dashes, err
}

// long parses --name, --name=value or --name value.
func (l *lexer) long(text string) (Flags, error) {
	if text[0] == '-' || text[0] == '=' {
		return nil, errFault
	}
	f := Flag{At: l.next, Words: 1}
	f.Name, f.Value, f.HasValue = strings.Cut(text, "=")
	spec, ok := l.lookup(func(t Table) (Spec, bool) { return t.byLongName(f.Name) })
	switch {
	case !ok && (!f.HasValue || meansOption(f.Name)):
		return nil, &UnknownFlagError{Flag: "--" + f.Name}
	case f.HasValue: // complete, even if the flag is unknown
		l.next++
		return Flags{f}, nil
	}
	return l.value(f, spec)
}

// cluster parses letters: -i, -it, -p80:80, -p=80:80, -p 80:80, -itp 80:80. The vendor's
// manual prints -gpus and -maca, which docker would read as letters (-m aca); an option of
// metax-docker with one dash is an *OptionError.
func (l *lexer) cluster(letters string) (flags Flags, err error) {
	if name, _, _ := strings.Cut(letters, "="); options().Has(name) {
		return nil, &OptionError{"--" + name, "-" + letters + " needs two dashes: --" + letters}
	}
	at := l.next
	for {
		letter, rest := letters[0], letters[1:]
		spec, ok := l.lookup(func(t Table) (Spec, bool) { return t.byLetter(letter) })
		if !ok {
			return flags, &UnknownFlagError{Flag: "-" + letters[:1]}
		}
		f := Flag{Name: spec.Name, At: at, Words: 1}
		switch {
		case len(rest) > 1 && rest[0] == '=': // "-e=" alone has the value "="
			f.Value, f.HasValue = rest[1:], true
		case spec.Value && rest != "":
			f.Value, f.HasValue = rest, true
		case !spec.Value && rest != "":
			f.Value = "true"
			flags = append(flags, f)
			letters = rest
			continue
		default:
			more, err := l.value(f, spec)
			return append(flags, more...), err
		}
		l.next++
		return append(flags, f), nil
	}
}

// value completes a flag that has no value in its own word.
func (l *lexer) value(f Flag, spec Spec) (Flags, error) {
	l.next++
	switch {
	case !spec.Value:
		f.Value = "true"
	case l.next == len(l.words):
		return Flags{f}, errNoValue
	default:
		f.Value, f.HasValue, f.Words = l.words[l.next], true, 2
		l.next++
	}
	return Flags{f}, nil
}

func (l *lexer) lookup(in func(Table) (Spec, bool)) (Spec, bool) {
	for _, t := range l.known {
		if s, ok := in(t); ok {
			return s, true
		}
	}
	return Spec{}, false
}
