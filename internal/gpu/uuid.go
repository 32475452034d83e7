// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"errors"
	"fmt"
	"strings"
)

// UUID names a GPU for its lifetime, in every host:
// "GPU-3fd4ee8f-169c-6d31-f9dc-c2a90a441f1b". A die of a two-die part has a suffix
// ("-DIE1"). The empty UUID means unknown.
type UUID string

// ErrUUID reports a string that cannot be the UUID of a GPU.
var ErrUUID = errors.New("not a GPU UUID")

const maxUUIDLen = 96 // the vendor library's buffer

// ParseUUID accepts what the vendor's tools print: "GPU-" and then letters, digits and dashes.
// It does not require the 8-4-4-4-12 form, because masked and suffixed forms are in use. A
// UUID becomes a CDI device name and a word of a command line, so other characters are an
// error.
func ParseUUID(s string) (UUID, error) {
	rest, ok := strings.CutPrefix(s, "GPU-")
	if !ok || rest == "" || len(s) > maxUUIDLen || rest[len(rest)-1] == '-' || !consistsOf(rest, alphanumeric+"-") {
		return "", fmt.Errorf("parse %q: %w", s, ErrUUID)
	}
	return UUID(s), nil
}

// Equal compares without regard to case, as people type them.
func (u UUID) Equal(s string) bool { return u != "" && strings.EqualFold(string(u), s) }

// HasDevice reports whether the kubelet's device with this ID is the GPU or a part of it.
// Device plugins name a GPU by its UUID, a virtual function "UUID-vf0", and a share "UUID::0".
func (u UUID) HasDevice(id string) bool {
	rest, ok := strings.CutPrefix(id, string(u))
	return ok && u != "" && (rest == "" || strings.HasPrefix(rest, "-vf") || strings.HasPrefix(rest, "::"))
}

// UnmarshalText implements encoding.TextUnmarshaler; the empty text is the unknown UUID.
func (u *UUID) UnmarshalText(text []byte) (err error) {
	if len(text) == 0 {
		*u = ""
		return nil
	}
	*u, err = ParseUUID(string(text))
	return err
}

// ValidSerial reports whether s can be a serial number: printable ASCII without blanks, commas
// or brackets, because it is typed in a list.
func ValidSerial(s string) bool {
	return s != "" && len(s) <= maxUUIDLen && consistsOf(s, alphanumeric+"-_./:+")
}

const alphanumeric = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// consistsOf reports whether all characters of s are in of.
func consistsOf(s, of string) bool { return strings.Trim(s, of) == "" }
