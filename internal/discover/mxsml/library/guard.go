// SPDX-License-Identifier: Apache-2.0

package library

import (
	"bytes"
	"errors"
	"fmt"
	"unsafe"

	"github.com/metax-ctk/container-toolkit/internal/discover/mxsml"
)

// errOverrun reports a function that wrote beyond the structure it was given: the
// library uses another layout.
var errOverrun = errors.New("wrote more bytes than its structure has")

// errText reports a text that is not terminated within its buffer, or is not printable.
var errText = errors.New("returned an invalid text")

const (
	guardSize = 1024
	guardByte = 0xa5
)

type guard [guardSize]byte

func newGuard() (g guard) {
	for i := range g {
		g[i] = guardByte
	}
	return g
}

func (g *guard) intact() bool { return bytes.Count(g[:], []byte{guardByte}) == guardSize }

// frame is a structure that the library fills, followed by a guard.
type frame[T any] struct {
	value T
	guard guard
}

// getStruct calls a function that fills a T, if the library has it.
func getStruct[T any](l *Library, function string, has bool, call func(*T) uint32) (T, error) {
	f := &frame[T]{guard: newGuard()}
	if !has {
		return f.value, fmt.Errorf("%w %s", ErrMissing, function)
	}
	code := call(&f.value)
	if !f.guard.intact() {
		l.untrusted = fmt.Errorf("%s %w", function, errOverrun)
		return f.value, l.untrusted
	}
	return f.value, l.codeError(function, code)
}

// getText calls a function that writes a text into a buffer of that size, if the
// library has it.
func getText(l *Library, function string, has bool, size int, call func(*byte, *uint32) uint32) (string, error) {
	if !has {
		return "", fmt.Errorf("%w %s", ErrMissing, function)
	}
	g := newGuard()
	buffer := append(make([]byte, size), g[:]...)
	length := uint32(size)
	code := call(&buffer[0], &length)
	if !(*guard)(buffer[size:]).intact() {
		l.untrusted = fmt.Errorf("%s %w", function, errOverrun)
		return "", l.untrusted
	}
	if err := l.codeError(function, code); err != nil {
		return "", err
	}
	return fieldText(function, buffer[:size])
}

// fieldText is the text in a buffer, up to its zero byte.
func fieldText(what string, buffer []byte) (string, error) {
	end := bytes.IndexByte(buffer, 0)
	if end < 0 || !mxsml.Printable(string(buffer[:end])) {
		return "", fmt.Errorf("%s %w: %.64q", what, errText, buffer)
	}
	return string(buffer[:end]), nil
}

// cString copies a text of the library up to the first unprintable character, at most
// 128 bytes.
func cString(at *byte) string {
	var s []byte
	for at != nil && len(s) < 128 && *at >= ' ' && *at <= '~' {
		s = append(s, *at)
		at = (*byte)(unsafe.Add(unsafe.Pointer(at), 1)) //nolint:gosec // G103: *at is not NUL, so the text has a next byte
	}
	return string(s)
}
