// SPDX-License-Identifier: Apache-2.0

package scrub

import (
	stdhex "encoding/hex"
	"strings"
)

// spacedHex is a word as the driver writes serial numbers: the bytes in hexadecimal, "53 49
// 4d".
func spacedHex(word string) string {
	bytes := make([]string, len(word))
	for i := range len(word) {
		bytes[i] = stdhex.EncodeToString([]byte{word[i]})
	}
	return strings.Join(bytes, " ")
}

// spacedSerial replaces a serial number in that form by its stand-in in the same form.
func spacedSerial(s *Scrubber, text string, from, to int) (string, bool) {
	word, err := stdhex.DecodeString(strings.ReplaceAll(text[from:to], " ", ""))
	if err != nil {
		return "", false
	}
	return spacedHex(s.Word(Serial, strings.TrimRight(string(word), "\x00"))), true
}
