// SPDX-License-Identifier: Apache-2.0

package mxsml

import (
	"encoding/json"
	"fmt"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// maxText is the maximum length of a text of an Answer, in bytes. The library's buffers
// and metax-mxsml's own messages are shorter.
const maxText = 1024

// Decode parses the output of metax-mxsml. Unknown fields are ignored. It fails with
// ErrFormat for content that no library can return: more entries than the limits,
// duplicate or unknown device numbers, texts that are not printable. It does not check
// addresses and UUIDs; Node does.
func Decode(data []byte) (Answer, error) {
	var a Answer
	if err := json.Unmarshal(data, &a); err != nil {
		return Answer{}, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	if err := a.check(); err != nil {
		return Answer{}, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return a, nil
}

func (a Answer) check() error {
	if a.Version != Version {
		return fmt.Errorf("version %.40q; want %q", a.Version, Version)
	}
	c := checker{ids: map[int]bool{}}
	c.texts(a.Driver, a.MACA)
	c.texts(a.Missing...)
	c.texts(a.Warnings...)
	if a.Failure != nil {
		c.texts(a.Failure.Function, a.Failure.Text)
	}
	if a.Slice != nil {
		c.slices([]Slice{*a.Slice})
	}
	c.atMost("devices", len(a.Devices), maxID+1)
	c.atMost("warnings", len(a.Warnings), 1000)
	for _, d := range a.Devices {
		c.device(d)
	}
	c.atMost("links", len(a.Links), len(a.Devices)*len(a.Devices))
	for _, l := range a.Links {
		if l.A == l.B || !c.ids[l.A] || !c.ids[l.B] {
			c.bad("link between devices %d and %d: both must be listed and differ", l.A, l.B)
		}
	}
	c.atMost("readings", len(a.Readings), MaxDevices+MaxPFs)
	for _, r := range a.Readings {
		c.texts(r.BDF)
	}
	return c.err
}

// maxID is the greatest number of a device. Those of limited devices follow those of others.
const maxID = 255

// checker keeps the first error.
type checker struct {
	ids map[int]bool
	err error
}

func (c *checker) bad(format string, a ...any) {
	if c.err == nil {
		c.err = fmt.Errorf(format, a...)
	}
}

func (c *checker) atMost(what string, n, most int) {
	if n > most {
		c.bad("%d %s; at most %d", n, what, most)
	}
}

func (c *checker) device(d Device) {
	switch {
	case d.ID < 0 || d.ID > maxID:
		c.bad("device number %d is out of range", d.ID)
	case c.ids[d.ID]:
		c.bad("device %d occurs twice", d.ID)
	case d.MemoryKiB < 0 || d.MemoryKiB > maxMemoryKiB:
		c.bad("device %d has %d KiB of memory", d.ID, d.MemoryKiB)
	}
	c.ids[d.ID] = true
	c.texts(d.BDF, d.UUID, d.Name, d.Mode, d.BoardSerial, d.ChipSerial, d.BIOS, d.Reason, d.MetaXLink, d.QoS)
	c.atMost("virtual functions", len(d.VFs), 2*MaxDevices)
	c.slices(d.Slices)
}

// maxMemoryKiB is 64 TiB, far more than any GPU has. A greater number is probably in
// another unit.
const maxMemoryKiB = 1 << 36

func (c *checker) slices(slices []Slice) {
	c.atMost("slices", len(slices), gpu.MaxSlices)
	seen := map[int]bool{}
	for _, s := range slices {
		if s.Index < 0 || s.Index >= gpu.MaxSlices || seen[s.Index] {
			c.bad("slice number %d is out of range or occurs twice", s.Index)
		}
		if s.ComputePercent < 0 || s.ComputePercent > 100 || s.MemoryMiB < 0 || s.MemoryMiB > maxMemoryKiB>>10 {
			c.bad("slice %d has %d %% of the compute units and %d MiB of memory", s.Index, s.ComputePercent, s.MemoryMiB)
		}
		seen[s.Index] = true
		c.texts(s.UUID, s.Alias, s.QoS)
	}
}

func (c *checker) texts(texts ...string) {
	for _, text := range texts {
		if len(text) > maxText || !Printable(text) {
			c.bad("text %.80q is too long or not printable", text)
		}
	}
}

// Printable reports whether s is printable ASCII, or empty.
func Printable(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}
