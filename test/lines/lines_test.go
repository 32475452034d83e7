// SPDX-License-Identifier: Apache-2.0

package lines

import (
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/metax-ctk/container-toolkit/test/testfile"
)

// slack is by how many lines a bound may exceed what is there, so that not every commit edits
// it.
const slack = 300

// TestMost: no side has more lines of code than its bound, and no bound is far from what there
// is.
func TestMost(t *testing.T) {
	data := testfile.Text(t, "most")
	form := regexp.MustCompile(`^([0-9]+) ([a-z0-9/ ]+): \S`)
	bounds := 0
	for line := range strings.Lines(data) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		found := form.FindStringSubmatch(line)
		if found == nil {
			t.Fatalf("not \"LINES DIRECTORIES: WHY\": %q", line)
		}
		most, err := strconv.Atoi(found[1])
		if err != nil {
			t.Fatal(err)
		}
		bounds++
		got := 0
		for _, dir := range strings.Fields(found[2]) {
			got += code(t, filepath.Join("../..", dir))
		}
		switch {
		case got > most:
			t.Errorf("%s: %d lines of code, %d at most: make something shorter, or raise the number in test/lines/most and say why there", found[2], got, most)
		case got < most-slack:
			t.Errorf("%s: %d lines of code now: lower %d in test/lines/most", found[2], got, most)
		}
	}
	if bounds != 2 {
		t.Errorf("%d bounds, want one for the node and one for the cluster", bounds)
	}
}

// code is how many lines of a directory's Go files have a token of the program.
func code(t *testing.T, dir string) int {
	t.Helper()
	total := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		total += lines(text)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return total
}

// lines is how many lines of a Go file have a token that is not a comment.
func lines(text []byte) int {
	file := token.NewFileSet().AddFile("", -1, len(text))
	var s scanner.Scanner
	s.Init(file, text, nil, 0) // without comments
	n, last := 0, 0
	for {
		pos, tok, literal := s.Scan()
		if tok == token.EOF {
			return n
		}
		if tok == token.SEMICOLON && literal == "\n" {
			continue // put there by the scanner
		}
		first := file.Line(pos)
		end := first + strings.Count(literal, "\n") // a raw string has several lines
		n += end - max(first-1, last)
		last = end
	}
}

// TestLines: comments and blank lines do not count, each line of a raw string does.
func TestLines(t *testing.T) {
	text := "// Package a.\npackage a\n\n/* two\nlines */\nvar x = `one\n\nthree` // here\nvar y, z = 1, 2\n"
	if got := lines([]byte(text)); got != 5 {
		t.Errorf("%d lines, want 5", got)
	}
}
