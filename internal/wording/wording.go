// SPDX-License-Identifier: Apache-2.0

// Package wording formats numbers, lists and causes of errors for messages and tables.
package wording

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"time"
)

// Count formats a number of things, such as "1 GPU", "2 GPUs" or "3 processes".
func Count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	if strings.HasSuffix(thing, "s") {
		thing += "e"
	}
	return strconv.Itoa(n) + " " + thing + "s"
}

// Duration prints a time as people write it: "1h", not "1h0m0s".
func Duration(d time.Duration) string {
	text := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	return text
}

// List formats indices with commas, such as "0,1,4".
func List(indices []int) string {
	words := make([]string, len(indices))
	for i, index := range indices {
		words[i] = strconv.Itoa(index)
	}
	return strings.Join(words, ",")
}

// Some formats the first words of a list, with commas, and the number of further ones.
func Some(words []string, most int) string {
	if len(words) <= most {
		return strings.Join(words, ", ")
	}
	return strings.Join(words[:most], ", ") + " and " + strconv.Itoa(len(words)-most) + " more"
}

// Short returns a text of at most so many bytes: a longer one is cut, and ends in an ellipsis.
func Short(text string, most int) string {
	const mark = "…"
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most-len(mark)], "") + mark
}

// Pairs writes pairs of GPU indices: "0-2, 1-3".
func Pairs(list [][2]int) string {
	var words []string
	for _, p := range list {
		words = append(words, fmt.Sprintf("%d-%d", p[0], p[1]))
	}
	return strings.Join(words, ", ")
}

// Ranges formats ascending indices, with three or more in a row as in "0-3,5".
func Ranges(indices []int) string {
	var words []string
	for i := 0; i < len(indices); {
		end := i + 1
		for end < len(indices) && indices[end] == indices[end-1]+1 {
			end++
		}
		if end-i > 2 {
			words = append(words, strconv.Itoa(indices[i])+"-"+strconv.Itoa(indices[end-1]))
		} else {
			words = append(words, List(indices[i:end]))
		}
		i = end
	}
	return strings.Join(words, ",")
}

// Name returns the name of value v of an enumeration that counts from 0, and such as
// "unknown (7)" for a value without one.
func Name[T ~uint8](names []string, v T) string {
	if int(v) < len(names) {
		return names[v]
	}
	return fmt.Sprintf("unknown (%d)", v)
}

// Cause returns an error without the operations and paths of its *fs.PathErrors. The
// caller names the file itself; a path that a library added, for instance of a file
// descriptor below /proc, is of no use to the reader.
func Cause(err error) error {
	for in := (*fs.PathError)(nil); errors.As(err, &in); {
		err = in.Err
	}
	return err
}
