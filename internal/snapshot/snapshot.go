// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/tools/txtar"

	"github.com/metax-ctk/container-toolkit/internal/hostfs/hosttree"
	"github.com/metax-ctk/container-toolkit/internal/terminal"
	"github.com/metax-ctk/container-toolkit/internal/wording"
)

// Magic is the first line of a snapshot: what it is, and the version of the format.
const (
	Magic   = title + version
	title   = "metax-ctk snapshot "
	version = "v1"
)

// MaxSize is the maximum size of a snapshot in bytes.
const MaxSize = 16 << 20

// maxEntries is the maximum number of files in a snapshot; one of a thousand GPUs has
// some fifty thousand.
const maxEntries = 100_000

// ErrFormat reports a text that is not a valid snapshot.
var ErrFormat = errors.New("not a snapshot")

// ErrCut reports a truncated snapshot.
var ErrCut = errors.New("the file is truncated; take the snapshot again")

// ErrTooLarge reports a snapshot of more than MaxSize bytes.
var ErrTooLarge = errors.New("snapshot too large")

// Snapshot is a recorded node.
type Snapshot struct {
	// Notes are lines about what is missing in the snapshot, with the reason.
	Notes []string
	// Tree has the host's files.
	Tree hosttree.Tree
	// Answers are the results of programs, in the order in which they were run.
	Answers []Answer
	// Reports are texts for people, by name: a word of letters and dashes.
	Reports map[string]string
}

// reportsDir is the directory of the tree with the reports.
const reportsDir = ".reports"

// end is the last entry of every snapshot. Without it a truncated snapshot would look
// like a node that lacks things.
const end = ".end"

// endLine is the entry end in the text. No line of a file looks like it.
const endLine = "\n-- " + end + " --"

// Is reports whether a text begins like a snapshot, of any version.
func Is(text []byte) bool { return bytes.HasPrefix(text, []byte(title)) }

// head explains the file to a person who opens it.
const head = `# Snapshot of one node: files about its GPUs and engines, and the output of
# programs. Names, UUIDs, serial numbers, addresses and secrets are replaced, the
# same value always by the same placeholder. Read it before you send it.
# To use it: metax-ctk --node FILE
`

// Format returns the text of a snapshot; Parse reads it back. It fails with
// ErrTooLarge, or if the tree cannot be written.
func (s Snapshot) Format() ([]byte, error) {
	tree := hosttree.Tree{}
	for p, e := range s.Tree {
		if withinDir(p, answersDir) || withinDir(p, reportsDir) || withinDir(p, end) {
			return nil, fmt.Errorf("write snapshot: %w: the path %q is reserved", ErrFormat, p)
		}
		tree[p] = e
	}
	for n, a := range s.Answers {
		a.addTo(tree, n)
	}
	for name, text := range s.Reports {
		tree[reportsDir+"/"+name] = hosttree.File{Data: text}
	}
	if err := tree.Check(); err != nil {
		return nil, fmt.Errorf("write snapshot: %w", err)
	}
	var b bytes.Buffer
	b.WriteString(Magic + "\n" + head)
	for _, note := range s.Notes {
		fmt.Fprintf(&b, "# %s\n", terminal.Message(note))
	}
	b.Write(tree.Format())
	b.WriteString(strings.TrimPrefix(endLine, "\n") + "\n")
	if b.Len() > MaxSize {
		return nil, fmt.Errorf("write snapshot: %w: %d bytes, over %d", ErrTooLarge, b.Len(), MaxSize)
	}
	return b.Bytes(), nil
}

// Parse reads a snapshot, which may be hostile: whatever it contains, its tree can be
// written only below a directory. It fails with ErrFormat, ErrCut, ErrTooLarge, or an
// error of package hosttree.
func Parse(text []byte) (Snapshot, error) {
	if len(text) > MaxSize {
		return Snapshot{}, fmt.Errorf("read snapshot: %w: %d bytes, over %d", ErrTooLarge, len(text), MaxSize)
	}
	if !Is(text) {
		return Snapshot{}, fmt.Errorf("read snapshot: %w: its first line is not %q", ErrFormat, Magic)
	}
	if first, _, _ := strings.Cut(string(text), "\n"); first != Magic {
		return Snapshot{}, fmt.Errorf("read snapshot: %w", &wording.VersionError{Version: strings.TrimPrefix(first, title)})
	}
	// Sending a text may add empty lines to it.
	if !bytes.HasSuffix(bytes.TrimRight(text, "\r\n"), []byte(endLine)) {
		return Snapshot{}, fmt.Errorf("read snapshot: %w", ErrCut)
	}
	archive := txtar.Parse(text)
	if len(archive.Files) > maxEntries {
		return Snapshot{}, fmt.Errorf("read snapshot: %w: %d files, over %d", ErrTooLarge, len(archive.Files), maxEntries)
	}
	tree, err := hosttree.Parse(text)
	if err != nil {
		return Snapshot{}, fmt.Errorf("read snapshot: %w", err)
	}
	delete(tree, end)
	s := Snapshot{Tree: tree, Notes: parseNotes(archive.Comment)}
	if s.Answers, err = extractAnswers(tree); err != nil {
		return Snapshot{}, fmt.Errorf("read snapshot: %w", err)
	}
	for p, e := range tree {
		name, ok := strings.CutPrefix(p, reportsDir+"/")
		if !ok {
			continue
		}
		file, isFile := e.(hosttree.File)
		if !isFile || strings.Contains(name, "/") {
			return Snapshot{}, fmt.Errorf("read snapshot: %w: %s: not a report", ErrFormat, p)
		}
		if s.Reports == nil {
			s.Reports = map[string]string{}
		}
		s.Reports[name] = file.Data
		delete(tree, p)
	}
	return s, nil
}

// withinDir reports whether a path is dir or below it.
func withinDir(p, dir string) bool { return p == dir || strings.HasPrefix(p, dir+"/") }

// parseNotes returns the notes in the comment of a snapshot.
func parseNotes(comment []byte) []string {
	text, _ := strings.CutPrefix(string(comment), Magic+"\n")
	text, _ = strings.CutPrefix(text, head)
	var all []string
	for line := range strings.Lines(text) {
		if note, ok := strings.CutPrefix(strings.TrimSpace(line), "# "); ok {
			all = append(all, note)
		}
	}
	return all
}
