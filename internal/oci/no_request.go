// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"bytes"
	"strconv"
	"strings"
)

// marker is a part of every text in which a container requests devices in a certain
// way. The search is for seed, the part that begins with a rare letter, which is ten
// times as fast as for the whole.
type marker struct{ before, seed string }

var markers = [...]marker{
	{`"cdi.`, "k8s.io/"}, {`"meta`, "x-tech.com/"}, {"meta", "x-container-devices/"}, {`"META`, "X_VISIBLE_DEVICES="},
}

func (m marker) in(data []byte) bool {
	for at := 0; ; at += len(m.seed) {
		i := bytes.Index(data[at:], []byte(m.seed))
		if i < 0 {
			return false
		}
		if at += i; bytes.HasSuffix(data[:at], []byte(m.before)) {
			return true
		}
	}
}

// NoRequest reports, without parsing, that the text of a config.json contains no
// request. If it is false, the text must be parsed.
func NoRequest(data []byte) bool {
	for _, m := range markers {
		if m.in(data) {
			return false
		}
	}
	return !escapesMarker(data)
}

// escapesMarker reports whether an escape in the text represents a character of a
// marker. Engines escape only what they must ("\n", "\"", "\u003c"), and no letters.
func escapesMarker(data []byte) bool {
	for {
		i := bytes.IndexByte(data, '\\')
		if i < 0 {
			return false
		}
		if data = data[i+1:]; len(data) == 0 {
			return false
		}
		switch data[0] {
		case '/':
			return true
		case 'u':
			if escapesMarkerCharacter(data[1:]) {
				return true
			}
		}
		data = data[1:]
	}
}

// escapesMarkerCharacter reports that for the digits of an escape \uXXXX; invalid
// digits are not valid JSON.
func escapesMarkerCharacter(digits []byte) bool {
	if len(digits) < 4 || digits[0] != '0' || digits[1] != '0' {
		return false
	}
	c, err := strconv.ParseUint(string(digits[2:4]), 16, 8)
	return err == nil &&
		strings.IndexByte("/.-_=0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", byte(c)) >= 0
}
