package gpu

import (
	"errors"
	"fmt"
	"strings"
)

// UUID names a GPU for its lifetime, wherever it is plugged in:
// "GPU-3fd4ee8f-169c-6d31-f9dc-c2a90a441f1b". A die of a two-die part carries a
// suffix ("-DIE1"). The empty UUID means that it is not known.
type UUID string

// ErrUUID reports a string that cannot be the UUID of a GPU.
var ErrUUID = errors.New("not a GPU UUID")

const maxUUIDLen = 96 // the vendor library's buffer

// ParseUUID accepts what the vendor's tools print: "GPU-" and then letters,
// digits and dashes. The 8-4-4-4-12 shape is not demanded, because masked and
// suffixed forms are in circulation; but a UUID becomes a CDI device name and a
// command-line word, so nothing beyond that alphabet passes.
func ParseUUID(s string) (UUID, error) {
	rest, ok := strings.CutPrefix(s, "GPU-")
	if !ok || rest == "" || len(s) > maxUUIDLen || rest[len(rest)-1] == '-' {
		return "", fmt.Errorf("parse %q: %w", s, ErrUUID)
	}
	for i := range len(rest) {
		if c := rest[i]; !isAlnum(c) && c != '-' {
			return "", fmt.Errorf("parse %q: %w", s, ErrUUID)
		}
	}
	return UUID(s), nil
}

// Equal compares without regard to case, as people type them.
func (u UUID) Equal(s string) bool { return u != "" && strings.EqualFold(string(u), s) }

// UnmarshalText implements encoding.TextUnmarshaler; the empty text is the
// unknown UUID.
func (u *UUID) UnmarshalText(text []byte) (err error) {
	if len(text) == 0 {
		*u = ""
		return nil
	}
	*u, err = ParseUUID(string(text))
	return err
}

// ValidSerial tells whether s may stand as a serial number: printable ASCII
// without blanks, commas or brackets, since it is typed in a list.
func ValidSerial(s string) bool {
	if s == "" || len(s) > maxUUIDLen {
		return false
	}
	for i := range len(s) {
		if c := s[i]; !isAlnum(c) && !strings.ContainsRune("-_./:+", rune(c)) {
			return false
		}
	}
	return true
}

func isAlnum(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
