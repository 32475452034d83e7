// SPDX-License-Identifier: Apache-2.0

package request

import (
	"encoding/csv"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// maxLen bounds a value in bytes; 128 GPUs by qualified UUID take half of it.
const maxLen = 16 << 10

// What to write instead, at the end of a message.
const (
	hintForms  = "write all, a number, or IDs as in [0,2]"
	hintCount  = "write all, or a number from 1 on; in brackets, as in [0], it names a GPU"
	hintSlices = "write for example [sgpu:UUID]; metax-ctk sgpu list shows what there is"
	hintList   = "write for example [0,2]; metax-ctk device list shows what there is"
)

// Parse reads a value of --gpus:
//
//	all                  every GPU
//	2                    any two
//	0,2  or  [0,2]       these: by index, UUID, PCI address, serial number or
//	                     qualified CDI name; [2] is the GPU with index 2
//	0-3  or  [0-3,6]     these: a range of indices
//	GPU-3fd4…            this one; a part of the UUID is enough if one GPU has it
//	[sgpu:UUID]          this slice of a GPU, or several of them: by UUID, by the
//	                     PCI address of a virtual function or by qualified CDI
//	                     name, also in the angle brackets that the vendor prints
//	count=2,device=…     docker's own grammar: comma-separated fields, quoted as
//	                     in CSV, with the keys count, device, driver,
//	                     capabilities and options
//
// The quotes that docker wants around "device=0,2" may be missing, as a shell removes them:
// fields without a key after device= are more IDs. Errors are
// *ValueError.
func Parse(s string) (Request, error) {
	v := value(s)
	switch {
	case len(s) > maxLen:
		return v.fail(hintForms, "longer than %d bytes", maxLen)
	case strings.ContainsFunc(s, func(r rune) bool { return !strconv.IsPrint(r) || r == utf8.RuneError }):
		return v.fail(hintForms, "it contains an unprintable character")
	}
	s = strings.Trim(s, " ")
	if s == "" {
		return v.fail(hintForms, "empty")
	}
	if list, ok := strings.CutPrefix(s, "["); ok {
		if list, ok = strings.CutSuffix(list, "]"); !ok {
			return v.fail(hintList, "the closing ] is missing")
		}
		return v.list(strings.Split(list, ","))
	}
	fields, err := csv.NewReader(strings.NewReader(s)).Read()
	if err != nil {
		return v.fail(`write for example '"device=0,2"'`, "quotes must enclose a whole field")
	}
	return v.fields(fields)
}

// value is the text being parsed, for the messages.
type value string

func (v value) fail(hint, format string, a ...any) (Request, error) {
	return Request{}, &ValueError{Value: string(v), Err: fmt.Errorf(format, a...), Hint: hint}
}

// fields parses docker's grammar, which includes plain "2" and "0,2".
func (v value) fields(fields []string) (Request, error) {
	var (
		bare, ids, seen []string
		count, last     string
	)
	for _, field := range fields {
		field = strings.Trim(field, " ")
		key, val, pair := strings.Cut(field, "=")
		if !pair || key == CDIKind || key == SliceKind {
			switch {
			case last == "device":
				ids = append(ids, field)
			case last == "capabilities" && isCapability(field): // what "gpu" says anyway
			default:
				bare = append(bare, field)
			}
			continue
		}
		if slices.Contains(seen, key) {
			return v.fail("write "+key+"= once", "%s= is given twice", key)
		}
		seen, last = append(seen, key), key
		switch key {
		case "count":
			count = val
		case "device":
			ids = strings.Split(val, ",")
		case "capabilities":
			// Ignored: a MetaX GPU always has all its capabilities.
		case "driver":
			if err := v.driver(val); err != nil {
				return Request{}, err
			}
		case "options":
			if val != "" {
				return v.fail("remove options=", "a MetaX GPU takes no options")
			}
		default:
			if strings.Contains(key, "/") {
				return v.fail("write --device="+field+" for it", "%q is a CDI device, but neither %s nor %s", field, CDIKind,
					SliceKind)
			}
			return v.fail("the keys are count, device, driver and capabilities", "unknown key %q", key)
		}
	}
	return v.combine(bare, ids, count, seen)
}

// combine makes one request of the parsed fields.
func (v value) combine(bare, ids []string, count string, keys []string) (Request, error) {
	hasCount := slices.Contains(keys, "count")
	switch {
	case ids != nil && (hasCount || len(bare) > 0):
		return v.fail("write either 2 or device=0,2", "a count and devices together")
	case hasCount && len(bare) > 0:
		return v.fail(hintForms, "a count and %q together", bare[0])
	case hasCount && count == "all", len(ids) == 1 && ids[0] == "all":
		return Request{All: true}, nil
	case hasCount:
		return v.count(count)
	case ids != nil:
		return v.list(ids)
	case len(bare) == 0:
		return Request{Count: 1}, nil // like docker, if there is only driver= or capabilities=
	case len(bare) == 1:
		return v.single(bare[0])
	}
	return v.list(bare)
}

// single parses the only field: all, a count or one ID.
func (v value) single(field string) (Request, error) {
	if field == "all" || field == CDIKind+"=all" {
		return Request{All: true}, nil
	}
	if _, err := strconv.ParseFloat(field, 64); err == nil || errors.Is(err, strconv.ErrRange) {
		return v.count(field) // "1e9" is meant as a number, not as a serial number
	}
	return v.list([]string{field})
}

// maxCount bounds the number of GPUs: no node has more, and serial numbers are longer.
const maxCount = 99_999

func (v value) count(s string) (Request, error) {
	n, err := strconv.Atoi(s)
	switch {
	case errors.Is(err, strconv.ErrRange), n > maxCount:
		return v.fail("write ["+s+"] for a serial number", "%s is too large for a number of GPUs", s)
	case err != nil:
		return v.fail(hintCount, "%q is not a whole number of GPUs", s)
	case n < 1:
		return v.fail(hintCount, "the number of GPUs is at least 1")
	}
	return Request{Count: n}, nil
}

func (v value) driver(name string) error {
	switch name {
	case "", "metax", "metax-tech.com", "cdi":
		return nil
	}
	return &ValueError{
		Value: string(v), Err: fmt.Errorf("driver %q: %w", name, ErrDriver),
		Hint: "use docker itself, without this wrapper, for the GPUs of another vendor",
	}
}

// list parses IDs of GPUs or of slices, and checks that they are valid and without
// duplicates.
func (v value) list(items []string) (Request, error) {
	var r Request
	seen := make(map[string]bool, len(items))
	for _, item := range items {
		item = trimCut(strings.Trim(item, " "))
		slice, isSlice := cutSlice(item)
		id := strings.TrimPrefix(item, CDIKind+"=")
		names := expandRange(id)
		switch {
		case isSlice && !isSliceID(slice):
			return v.fail(hintSlices, "%q cannot be the UUID or PCI address of a slice", slice)
		case isSlice:
			names = []string{slice}
			r.Slices = append(r.Slices, slice)
		case id == "":
			return v.fail(hintList, "the list has an empty name")
		case id == "all":
			return v.fail("write all alone, or name the GPUs", "all cannot be part of a list")
		case !isID(id):
			return v.fail(hintList, "%q cannot be an index, UUID, PCI address or serial number", id)
		case names == nil:
			return v.fail("write for example 0-3", "the range %s does not go up, or has an index above %d", id, maxIndex)
		default:
			r.IDs = append(r.IDs, id)
		}
		if len(r.IDs) > 0 && len(r.Slices) > 0 {
			return Request{},
				&ValueError{Value: string(v), Err: ErrMixed, Hint: "request whole GPUs, as in [0,2], or slices, as in [sgpu:UUID]"}
		}
		for _, name := range names {
			switch {
			case seen[name] && isSlice:
				return v.fail("name each slice once", "slice %q is given twice", name)
			case seen[name]:
				return v.fail("name each GPU once", "GPU %q is given twice", name)
			}
			seen[name] = true
		}
	}
	return r, nil
}

// trimCut returns an ID without the dots with which a table ends a cut UUID, "GPU-3fd4ee8f…",
// pasted from there.
func trimCut(id string) string {
	return strings.TrimSuffix(strings.TrimSuffix(id, "…"), "...")
}

// maxIndex bounds the indices of a range.
const maxIndex = 4095

// cutRange splits a range of indices, each of one to four digits. A serial number of this
// form cannot be requested. There is no regular expression here, because compiling one would
// be a cost of every container start.
func cutRange(s string) (first, last int, ok bool) {
	from, to, _ := strings.Cut(s, "-")
	first, ok1 := parseIndex(from)
	last, ok2 := parseIndex(to)
	return first, last, ok1 && ok2
}

func parseIndex(s string) (index int, ok bool) {
	n, err := strconv.ParseUint(s, 10, 16)
	return int(n), err == nil && len(s) <= 4
}

// expandRange returns the indices of a range, or any other ID by itself; nil for a range that
// does not go up or ends above maxIndex.
func expandRange(id string) (all []string) {
	first, last, ok := cutRange(id)
	if !ok {
		return []string{id}
	}
	for i := first; i <= last && last <= maxIndex; i++ {
		all = append(all, strconv.Itoa(i))
	}
	return all
}

// isID reports whether s may name a GPU. The characters of UUIDs and PCI addresses are
// also valid in a serial number.
func isID(s string) bool {
	c := s[0] | 0x20
	return ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z')) && gpu.ValidSerial(s)
}

// slicePrefix is the vendor's notation for a slice of a GPU.
const slicePrefix = "sgpu:"

// cutSlice returns a slice's ID from "sgpu:ID", "<sgpu:ID>" or a CDI name of SliceKind.
func cutSlice(s string) (id string, ok bool) {
	if inner, open := strings.CutPrefix(s, "<"); open {
		if inner, ok = strings.CutSuffix(inner, ">"); ok {
			s = inner
		}
	}
	if id, ok = strings.CutPrefix(s, SliceKind+"="); ok {
		return id, true
	}
	if len(s) >= len(slicePrefix) && strings.EqualFold(s[:len(slicePrefix)], slicePrefix) {
		return s[len(slicePrefix):], true
	}
	return "", false
}

// isSliceID reports whether s may name a slice.
func isSliceID(s string) bool { return gpu.ValidSliceUUID(s) || parseBDF(s) != gpu.BDF{} }

// isCapability reports whether s is one of the words that are used with capabilities=.
func isCapability(s string) bool {
	switch s {
	case "gpu", "compute", "compat32", "display", "graphics", "ngx", "utility", "video":
		return true
	}
	return false
}
