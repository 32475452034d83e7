// SPDX-License-Identifier: Apache-2.0

package library

import (
	"debug/elf"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/ebitengine/purego"

	"github.com/metax-ctk/container-toolkit/internal/discover/mxsml"
)

// ErrMissing reports a function that the library does not have.
var ErrMissing = errors.New("this libmxsml has no")

// Library is an initialized libmxsml. Its methods must be called from one thread.
type Library struct {
	fn      functions
	missing []string
	// noDevice is the error of a library that has no device, except perhaps limited ones; nil
	// normally.
	noDevice error
	// untrusted is the reason why no result of the library can be trusted any more; nil
	// normally.
	untrusted error
}

// Open loads the library at an absolute path and initializes it. It fails with
// mxsml.ErrUnusable for a file that is not libmxsml, with ErrMissing, and with a
// *mxsml.CodeError.
func Open(path string) (*Library, error) {
	// RTLD_LAZY, as MetaX's own programs use it: symbols of functions that are never
	// called need not resolve.
	handle, err := purego.Dlopen(path, purego.RTLD_LAZY|purego.RTLD_LOCAL)
	if err != nil {
		if !exports(path, "mxSmlInit") {
			return nil, fmt.Errorf("load %s: %w", path, mxsml.ErrUnusable)
		}
		return nil, fmt.Errorf("load %s: %s", path, printableASCII(err.Error()))
	}
	l := &Library{}
	functions := reflect.ValueOf(&l.fn).Elem()
	for i := range functions.NumField() {
		name := functions.Type().Field(i).Tag.Get("c")
		at, err := purego.Dlsym(handle, name)
		switch {
		case err == nil:
			purego.RegisterFunc(functions.Field(i).Addr().Interface(), at)
		case name == "mxSmlInit":
			return nil, fmt.Errorf("load %s: %w", path, mxsml.ErrUnusable)
		case i < required:
			return nil, fmt.Errorf("load %s: %w %s", path, ErrMissing, name)
		default:
			l.missing = append(l.missing, name)
		}
	}
	code := l.fn.Init()
	err = l.codeError("mxSmlInit", code)
	if code == noDevice && l.fn.AllLimited != nil {
		l.noDevice, err = err, nil
	}
	if err != nil {
		return nil, err
	}
	return l, nil
}

// exports reports whether the file is an ELF library, of any machine, with that
// function.
func exports(path, function string) bool {
	f, err := elf.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	symbols, err := f.DynamicSymbols()
	return err == nil &&
		slices.ContainsFunc(symbols, func(s elf.Symbol) bool { return s.Name == function && s.Section != elf.SHN_UNDEF })
}

// codeError makes an error of a function's result; nil for 0.
func (l *Library) codeError(function string, code uint32) error {
	if code == 0 {
		return nil
	}
	err := &mxsml.CodeError{Function: function, Code: code}
	if !err.Named() && l.fn.ErrorString != nil {
		err.Text = cString(l.fn.ErrorString(code))
	}
	return err
}

// printableASCII makes a text fit for an Answer: one line of printable ASCII of at most
// 512 bytes.
func printableASCII(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return ' '
		}
		return r
	}, s)
	return s[:min(len(s), 512)]
}
