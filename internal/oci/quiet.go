package oci

import (
	"bytes"
	"strconv"
	"strings"
)

// marker is what a text must contain if a container asks for something in a
// certain way. The search is for the part that begins with a rare letter, which
// is ten times as fast.
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

// Quiet tells, without parsing, that no request can be in the text of a
// config.json. False only means that one has to look.
func Quiet(data []byte) bool {
	for _, m := range markers {
		if m.in(data) {
			return false
		}
	}
	return !hides(data)
}

// hides reports whether an escape in the text stands for a character that markers
// consist of. Engines escape what they must ("\n", "\"", "\u003c"), and no letters.
func hides(data []byte) bool {
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
			if hidesHex(data[1:]) {
				return true
			}
		}
		data = data[1:]
	}
}

// hidesHex tells it of the digits of an escape \uXXXX; if they are none, it is
// not JSON.
func hidesHex(digits []byte) bool {
	if len(digits) < 4 || digits[0] != '0' || digits[1] != '0' {
		return false
	}
	c, err := strconv.ParseUint(string(digits[2:4]), 16, 8)
	return err == nil && strings.IndexByte("/.-_=0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", byte(c)) >= 0
}
