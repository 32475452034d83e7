// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/metax-ctk/container-toolkit/test/golden"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

// translated says of each English page which text its translation was last brought up to.
const translated = "testdata/translated.txt"

// fenced are the examples of a page, which are the same in both languages.
var fenced = regexp.MustCompile("(?s)```.*?```")

// TestTranslated notices an English page that changed since its translation was looked at.
// With
// -update, an author says that the translation is up to date again.
func TestTranslated(t *testing.T) {
	pages, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	var want bytes.Buffer
	for _, page := range append(pages, "../README.md") {
		if page == "cli.md" {
			continue // written from the programs; TestChineseReference compares commands and options
		}
		sum := sha256.Sum256(fenced.ReplaceAll([]byte(readFile(t, page)), nil))
		fmt.Fprintf(&want, "%s %x\n", filepath.Base(page), sum[:6])
	}
	if *golden.Update {
		testfile.Write(t, translated, want.Bytes(), 0o644)
	}
	have := readFile(t, translated)
	for line := range bytes.Lines(want.Bytes()) {
		if !bytes.Contains([]byte(have), line) {
			page, _, _ := bytes.Cut(line, []byte(" "))
			t.Errorf("%s has changed: bring its Chinese page up to date as well, then: go test ./docs -run TestTranslated -update", page)
		}
	}
}
