// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// BDF is the address of a PCI function: domain, bus, device, function. Its numeric order is
// the canonical order of the GPUs of a node.
type BDF struct {
	Domain   uint32
	Bus      uint8
	Device   uint8 // 0–31
	Function uint8 // 0–7
}

// ErrBDF reports a string that is not a PCI address.
var ErrBDF = errors.New(`not a PCI address of the form "0000:0e:00.0"`)

// ParseBDF reads the form that sysfs uses for directory names: four hex digits of domain (up
// to eight if the domain needs them, as behind Intel VMD), two of bus, two of device, one of
// function; and that of NVML and its like, which always has eight digits of domain. Upper-case
// digits are accepted; no part may be missing.
func ParseBDF(s string) (BDF, error) {
	bad := func() (BDF, error) { return BDF{}, fmt.Errorf("parse %q: %w", s, ErrBDF) }
	domain, rest, ok1 := strings.Cut(s, ":")
	bus, rest, ok2 := strings.Cut(rest, ":")
	device, function, ok3 := strings.Cut(rest, ".")
	if !ok1 || !ok2 || !ok3 || len(domain) < 4 || len(domain) > 8 ||
		len(bus) != 2 || len(device) != 2 || len(function) != 1 {
		return bad()
	}
	if len(domain) > 4 && len(domain) < 8 && domain[0] == '0' {
		return bad() // nobody writes "00000:…"
	}
	var part [4]uint64
	for i, digits := range []string{domain, bus, device, function} {
		v, err := strconv.ParseUint(digits, 16, 32)
		if err != nil || digits[0] == '+' {
			return bad()
		}
		part[i] = v
	}
	if part[2] > 0x1f || part[3] > 7 {
		return bad()
	}
	return BDF{Domain: uint32(part[0]), Bus: uint8(part[1]), Device: uint8(part[2]), Function: uint8(part[3])}, nil
}

// String formats the address as sysfs does, in lower case.
func (b BDF) String() string {
	return fmt.Sprintf("%04x:%02x:%02x.%x", b.Domain, b.Bus, b.Device, b.Function)
}

// Compare compares addresses by domain, bus, device, function: -1 if b comes before o, 0 if
// they are equal, 1 if b comes after o.
func (b BDF) Compare(o BDF) int { return cmp.Compare(b.key(), o.key()) }

func (b BDF) key() uint64 {
	return uint64(b.Domain)<<24 | uint64(b.Bus)<<16 | uint64(b.Device)<<8 | uint64(b.Function)
}

// MarshalText implements encoding.TextMarshaler.
func (b BDF) MarshalText() ([]byte, error) { return []byte(b.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (b *BDF) UnmarshalText(text []byte) (err error) {
	*b, err = ParseBDF(string(text))
	return err
}
