// SPDX-License-Identifier: Apache-2.0

package hosttree

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/txtar"

	"github.com/metax-ctk/container-toolkit/internal/hostfs/shlib"
)

// The text form of a Tree is a txtar archive whose marker lines carry what a file name alone
// cannot:
//
//	-- etc/os-release --                            a file of mode 0644
//	-- opt/mxdriver/bin/mx-smi (0755) --            a file of another mode
//	-- opt/maca/lib/libmcruntime.so (base64) --     content that is not lines of text
//	-- etc/docker/daemon.json (open) --             the last line has no newline
//	-- etc/crio/crio.conf (crlf) --                 lines end in CR LF
//	-- opt/maca/lib/libmccl.so (elf) --             a Library, one fact to a line
//	-- run/lock/ (0700) --                          a directory; without mode 0755
//	-- sys/class/drm/card1 -> ../../x --            a symbolic link
//	-- dev/dri/renderD128 (c 226:128 0660 0:44) --  a character device with its owner;
//	                                                without one, 0:0
//
// Text before the first marker is a comment. Blank lines belong to the entry above.

// Parse reads the text form. A path that occurs twice, a body for an entry that cannot
// have one, and a tree that fails Check are errors.
func Parse(text []byte) (Tree, error) {
	t := Tree{}
	for _, f := range txtar.Parse(text).Files {
		path, e, err := parseEntry(f.Name, f.Data)
		if err != nil {
			return nil, fmt.Errorf("read tree: marker %q: %w", f.Name, err)
		}
		if _, ok := t[path]; ok {
			return nil, fmt.Errorf("read tree: %w: %q occurs twice", ErrTree, path)
		}
		t[path] = e
	}
	if err := t.Check(); err != nil {
		return nil, fmt.Errorf("read tree: %w", err)
	}
	return t, nil
}

func parseEntry(marker string, body []byte) (path string, e Entry, err error) {
	bad := func(format string, a ...any) (string, Entry, error) {
		return "", nil, fmt.Errorf("%w: %s", ErrTree, fmt.Sprintf(format, a...))
	}
	path, rest, _ := strings.Cut(marker, " ")
	if target, ok := strings.CutPrefix(rest, "-> "); ok {
		if len(body) > 0 {
			return bad("a link has no body")
		}
		return path, Link(target), nil
	}
	attr, err := parseAttributes(rest)
	if err != nil {
		return "", nil, err
	}
	path, isDir := strings.CutSuffix(path, "/")
	switch {
	case len(attr) > 0 && attr[0] == "c":
		if len(body) > 0 || isDir {
			return bad("a device has no body and no slash")
		}
		d, err := parseDevice(attr[1:])
		return path, d, err
	case len(attr) == 1 && attr[0] == "elf" && !isDir:
		l, err := shlib.ParseFacts(string(body))
		if err != nil {
			return bad("%v", err)
		}
		return path, Library(l), nil
	case isDir:
		perm, left, err := parsePerm(attr, 0o755)
		if err != nil {
			return "", nil, err
		}
		if len(body) > 0 || len(left) > 0 {
			return bad("a directory has a mode at most, and no body")
		}
		return path, Dir{Perm: perm}, nil
	}
	perm, left, err := parsePerm(attr, 0o644)
	if err != nil {
		return "", nil, err
	}
	data := string(body)
	switch strings.Join(left, " ") {
	case "":
		return path, File{Data: data, Perm: perm}, nil
	case inBase64:
		raw, err := base64.StdEncoding.DecodeString(data)
		if err != nil {
			return bad("body: %v", err)
		}
		return path, File{Data: string(raw), Perm: perm}, nil
	case inCRLF, inOpen, inCRLF + " " + inOpen:
		if slices.Contains(left, inOpen) {
			if len(data) < 2 {
				return bad("(open) needs a last line")
			}
			data = strings.TrimSuffix(data, "\n")
		}
		if slices.Contains(left, inCRLF) {
			data = strings.ReplaceAll(data, "\n", "\r\n")
		}
		return path, File{Data: data, Perm: perm}, nil
	}
	return bad("want (MODE), (base64), (crlf), (open), (elf), with a mode before them, or (c MAJOR:MINOR MODE UID:GID)")
}

// Encodings of a body that a text cannot contain as it is.
const (
	inBase64 = "base64"
	inCRLF   = "crlf"
	inOpen   = "open"
)

// parseAttributes splits "(a b)" into words; "" has none.
func parseAttributes(s string) ([]string, error) {
	if s == "" {
		return nil, nil
	}
	inner, ok1 := strings.CutPrefix(s, "(")
	inner, ok2 := strings.CutSuffix(inner, ")")
	if !ok1 || !ok2 || inner == "" || inner != strings.Join(strings.Fields(inner), " ") {
		return nil, fmt.Errorf("%w: %q after the path; want one pair of brackets, or -> TARGET", ErrTree, s)
	}
	return strings.Fields(inner), nil
}

// parsePerm parses a leading mode and returns the other attributes. The usual mode
// becomes 0, so that equal trees compare equal.
func parsePerm(attr []string, usual uint32) (perm uint32, left []string, err error) {
	if len(attr) == 0 || attr[0] == inBase64 || attr[0] == inCRLF || attr[0] == inOpen {
		return 0, attr, nil
	}
	if perm, err = parseOctal(attr[0]); err != nil {
		return 0, nil, err
	}
	if perm == 0 {
		return 0, nil, fmt.Errorf("%w: mode 0000 is not supported", ErrTree)
	}
	if perm == usual {
		perm = 0
	}
	return perm, attr[1:], nil
}

func parseDevice(attr []string) (d Device, err error) {
	if len(attr) == 2 {
		attr = append(attr, "0:0")
	}
	if len(attr) != 3 {
		return d, fmt.Errorf("%w: a device is (c MAJOR:MINOR MODE) or (c MAJOR:MINOR MODE UID:GID)", ErrTree)
	}
	if d.Major, d.Minor, err = parsePair(attr[0]); err != nil {
		return d, err
	}
	if d.Perm, err = parseOctal(attr[1]); err != nil {
		return d, err
	}
	d.UID, d.GID, err = parsePair(attr[2])
	return d, err
}

func parseOctal(s string) (uint32, error) {
	v, err := strconv.ParseUint(s, 8, 9)
	if err != nil || len(s) != 4 {
		return 0, fmt.Errorf("%w: mode %q; want four octal digits such as 0660", ErrTree, s)
	}
	return uint32(v), nil
}

func parsePair(s string) (a, b uint32, err error) {
	first, second, ok := strings.Cut(s, ":")
	x, err1 := strconv.ParseUint(first, 10, 32)
	y, err2 := strconv.ParseUint(second, 10, 32)
	if !ok || err1 != nil || err2 != nil {
		return 0, 0, fmt.Errorf("%w: %q; want two decimal numbers such as 226:128", ErrTree, s)
	}
	return uint32(x), uint32(y), nil
}

// Format returns the text form, with entries in the order of their paths. Parse reads
// it back to the same Tree.
func (t Tree) Format() []byte {
	a := &txtar.Archive{}
	for _, p := range t.sortedPaths() {
		a.Files = append(a.Files, formatEntry(p, t[p]))
	}
	return txtar.Format(a)
}

func formatEntry(path string, e Entry) txtar.File {
	switch e := e.(type) {
	case Link:
		return txtar.File{Name: path + " -> " + string(e)}
	case Dir:
		return txtar.File{Name: path + "/" + formatAttributes(e.Perm, 0o755, "")}
	case Device:
		return txtar.File{Name: fmt.Sprintf("%s (c %d:%d %04o %d:%d)", path, e.Major, e.Minor, e.Perm, e.UID, e.GID)}
	case Library:
		return txtar.File{Name: path + " (elf)", Data: []byte(shlib.Library(e).Facts())}
	case File:
		body, how := asText(e.Data)
		return txtar.File{Name: path + formatAttributes(e.Perm, 0o644, how), Data: body}
	}
	return txtar.File{Name: path}
}

func formatAttributes(perm, usual uint32, more string) string {
	var attr []string
	if perm != 0 && perm != usual {
		attr = append(attr, fmt.Sprintf("%04o", perm))
	}
	if more != "" {
		attr = append(attr, more)
	}
	if attr == nil {
		return ""
	}
	return " (" + strings.Join(attr, " ") + ")"
}

// asText returns the body for data, and its encoding.
func asText(data string) (body []byte, how string) {
	text := data
	var words []string
	if lines := strings.Count(text, "\n"); lines > 0 && lines == strings.Count(text, "\r\n") &&
		lines == strings.Count(text, "\r") {
		text = strings.ReplaceAll(text, "\r\n", "\n")
		words = append(words, inCRLF)
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
		words = append(words, inOpen)
	}
	if !isText(text) {
		return wrapBase64(data), inBase64
	}
	return []byte(text), strings.Join(words, " ")
}

// isText reports whether txtar can contain data as it is: printable lines, all ended,
// that do not look like a marker.
func isText(data string) bool {
	return (data == "" || strings.HasSuffix(data, "\n")) &&
		!strings.ContainsFunc(data, func(r rune) bool {
			return (r < ' ' && r != '\n' && r != '\t') || r == 0x7f || r == '\uFFFD'
		}) && len(txtar.Parse([]byte(data)).Files) == 0
}

// wrapBase64 is data in base64, in lines of readable length.
func wrapBase64(data string) []byte {
	const width = 76
	var b strings.Builder
	for text := base64.StdEncoding.EncodeToString([]byte(data)); text != ""; {
		n := min(width, len(text))
		b.WriteString(text[:n] + "\n")
		text = text[n:]
	}
	return []byte(b.String())
}
