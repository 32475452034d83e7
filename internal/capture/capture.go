// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/hostfs/hosttree"
	"github.com/metax-ctk/container-toolkit/internal/snapshot"
	"github.com/metax-ctk/container-toolkit/internal/snapshot/scrub"
	"github.com/metax-ctk/container-toolkit/internal/wording"
)

// Config is what a capture needs.
type Config struct {
	Root *hostfs.Root
	// Scrub has learned what the callers know of the node.
	Scrub *scrub.Scrubber
}

// Take collects the files and returns them with stand-ins, and what is missing, in
// lines. It does not fail: a host of which nothing can be read gives an empty tree.
func Take(c Config) (hosttree.Tree, []string) {
	t := &taker{Config: c, found: map[string]item{}, dirs: map[string]bool{}, left: map[string]int{}}
	t.captureSystem()
	t.capturePCI()
	t.captureLayout()
	t.captureNICs()
	t.captureDevices()
	t.captureSoftware()
	t.captureConfigs()
	return t.finish()
}

// Answer is an answer with stand-ins, as far as it is kept. Paths of the host begin
// where the Scrubber says that its root is.
func (c Config) Answer(a snapshot.Answer) snapshot.Answer {
	a.Out = c.Scrub.Keep(strings.Join(a.Argv, " "), a.Out)
	argv := make([]string, len(a.Argv))
	for i, word := range a.Argv {
		argv[i] = c.Scrub.Parsed(word)
	}
	a.Argv = argv
	a.Failure = c.Scrub.Text(a.Failure)
	return a
}

// taker is a capture in the making.
type taker struct {
	Config
	found map[string]item
	dirs  map[string]bool // directories that are known to be ones
	left  map[string]int  // what was left out, and how often
	notes []string        // what could not be read
}

// item is an entry before it is scrubbed.
type item struct {
	entry hosttree.Entry
	treat treatment
}

// treatment scrubs what a file holds.
type treatment func(s *scrub.Scrubber, text string) string

func scrubParsed(s *scrub.Scrubber, text string) string { return s.Parsed(text) }

// The sizes in bytes beyond which files are left out.
const (
	maxAttribute = 4 << 10
	maxConfig    = 256 << 10
)

var errLoop = errors.New("too many links")

// followLinks finds out what a path leads to, and keeps the links on the way. The end of
// it is not a link.
func (t *taker) followLinks(p string) (real string, e hostfs.Entry, err error) {
	rest := strings.Split(strings.Trim(path.Clean("/"+p), "/"), "/")
	at := "/"
	for links := 0; len(rest) > 0; {
		next := path.Join(at, rest[0])
		rest = rest[1:]
		if t.dirs[next] && len(rest) > 0 {
			at = next
			continue
		}
		if e, err = t.Root.Lstat(next); err != nil {
			return "", e, err
		}
		if e.Mode&fs.ModeSymlink == 0 {
			at = next
			if e.Mode.IsDir() {
				t.dirs[at] = true
			}
			continue
		}
		if links++; links > 40 {
			return "", e, errLoop
		}
		t.addEntry(next, hosttree.Link(e.Target), nil)
		target := e.Target
		if !path.IsAbs(target) {
			target = path.Join(at, target)
		}
		rest = append(strings.Split(strings.Trim(path.Clean(target), "/"), "/"), rest...)
		at = "/"
		rest = slices.DeleteFunc(rest, func(s string) bool { return s == "" })
	}
	return at, e, nil
}

// addEntry keeps an entry, if a tree can have it.
func (t *taker) addEntry(p string, e hosttree.Entry, treat treatment) {
	p = strings.TrimPrefix(p, "/")
	if err := (hosttree.Tree{p: e}).Check(); err != nil {
		t.left["files with names or modes that a snapshot cannot have"]++
		return
	}
	t.found[p] = item{e, treat}
}

// captureDir keeps a directory, also if nothing in it is kept.
func (t *taker) captureDir(p string) {
	real, e, err := t.followLinks(p)
	if err != nil || !e.Mode.IsDir() {
		t.noteUnreadable(p, err)
		return
	}
	perm := uint32(e.Mode.Perm())
	if perm == 0o755 {
		perm = 0
	}
	if real != "/" {
		t.addEntry(real, hosttree.Dir{Perm: perm}, nil)
	}
}

// noteUnreadable keeps that something could not be read; that it is not there is nothing to
// tell.
func (t *taker) noteUnreadable(p string, err error) {
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return
	}
	t.notes = append(t.notes, fmt.Sprintf("not readable: %s: %v", p, wording.Cause(err)))
}

// listNames lists a directory.
func (t *taker) listNames(dir string) []string {
	names, err := t.Root.ReadDir(dir)
	t.noteUnreadable(dir, err)
	return names
}

// captureAndList keeps a directory and lists it.
func (t *taker) captureAndList(dir string) []string {
	names, err := t.Root.ReadDir(dir)
	if err != nil {
		t.noteUnreadable(dir, err)
		return nil
	}
	t.captureDir(dir)
	return names
}

// captureFile keeps a file of at most most bytes.
func (t *taker) captureFile(p string, most int, treat treatment) {
	real, e, err := t.followLinks(p)
	if err != nil || !e.Mode.IsRegular() {
		t.noteUnreadable(p, err)
		return
	}
	if !samePlace(p, real) {
		t.notes = append(t.notes, fmt.Sprintf("left out: %s: it leads to another place", p))
		return
	}
	text, err := t.readLimited(real, most)
	if err != nil {
		t.noteUnreadable(p, err)
		return
	}
	if treat == nil {
		treat = scrubParsed
	}
	t.addEntry(real, hosttree.File{Data: text}, treat)
}

// errLarge reports a file that is not small.
var errLarge = errors.New("it is larger than files of its kind")

func (t *taker) readLimited(p string, most int) (string, error) {
	f, err := t.Root.Open(p)
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, int64(most)+1))
	if err == nil && len(data) > most {
		err = errLarge
	}
	return string(data), err
}

// samePlace reports whether a file is in the directory of the root in which it was looked for;
// /var/run is /run, and distributions keep what is theirs of /etc in /usr.
func samePlace(p, real string) bool {
	top := func(p string) string {
		p = strings.TrimPrefix(p, "/")
		if rest, ok := strings.CutPrefix(p, "var/run/"); ok {
			p = "run/" + rest
		}
		top, _, _ := strings.Cut(p, "/")
		return top
	}
	return top(p) == top(real) || (top(p) == "etc" && top(real) == "usr")
}

// finish scrubs what was found, in the order of paths, so that stand-ins are numbered the same
// in every capture.
func (t *taker) finish() (hosttree.Tree, []string) {
	tree := hosttree.Tree{}
	for _, p := range slices.Sorted(maps.Keys(t.found)) {
		i := t.found[p]
		if t.lost(p) {
			t.left["files that changed meanwhile"]++
			continue
		}
		to := p
		if !ofKernel(p) {
			to = strings.TrimPrefix(t.Scrub.Path("/"+p), "/")
		}
		switch e := i.entry.(type) {
		case hosttree.File:
			if i.treat != nil {
				e.Data = i.treat(t.Scrub, e.Data)
			}
			i.entry = e
		case hosttree.Link:
			if !ofKernel(p) || path.IsAbs(string(e)) {
				i.entry = hosttree.Link(t.Scrub.Parsed(string(e)))
			}
		}
		if _, ok := tree[to]; ok {
			t.left["files whose names are the same once scrubbed"]++
			continue
		}
		tree[to] = i.entry
	}
	var notes []string
	for _, what := range slices.Sorted(maps.Keys(t.left)) {
		notes = append(notes, fmt.Sprintf("left out: %d %s", t.left[what], what))
	}
	slices.Sort(t.notes)
	for _, n := range slices.Compact(t.notes) {
		notes = append(notes, t.Scrub.Text(n))
	}
	return tree, notes
}

// lost reports whether what should be a directory above an entry is something else by
// now.
func (t *taker) lost(p string) bool {
	for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
		if above, ok := t.found[dir]; ok {
			if _, ok := above.entry.(hosttree.Dir); !ok {
				return true
			}
		}
	}
	return false
}

// ofKernel reports whether the kernel has named a file.
func ofKernel(p string) bool {
	top, _, _ := strings.Cut(p, "/")
	return top == "sys" || top == "proc" || top == "dev"
}
