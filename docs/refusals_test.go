// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"fmt"
	"path/filepath"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

// maxUncovered is the number of entries in testdata/refusals.txt. It may only shrink: a new
// refusal gets a row of errors.md, and its script demands words enough to find that row.
const maxUncovered = 118

// TestRefusals demands that each refusal in the scripts of the programs has a row on the page
// of errors, or an entry of its own in testdata/refusals.txt, below the reason why it has no
// row.
func TestRefusals(t *testing.T) {
	messages := toolkitMessages(t, "errors.md")
	entries := uncovered(t, readFile(t, "testdata/refusals.txt"))
	if n := len(entries); n != maxUncovered {
		t.Errorf("refusals.txt has %d entries, and maxUncovered is %d, which may only shrink", n, maxUncovered)
	}
	for _, r := range refusals(t) {
		entry := slices.Index(entries, strings.TrimSpace(r.pattern))
		rows := r.coveredBy(messages)
		if rows == nil && entry < 0 {
			t.Errorf("%s: %s\nno row of errors.md covers this refusal: %s", r.where, r.command, r.pattern)
		}
		if rows != nil && entry >= 0 {
			t.Errorf("%s: errors.md has a row %q, so remove from refusals.txt: %s", r.where, rows, r.pattern)
		}
		if entry >= 0 {
			entries = slices.Delete(entries, entry, entry+1)
		}
	}
	for _, pattern := range entries {
		t.Errorf("no script has this refusal so often, so remove it from refusals.txt: %s", pattern)
	}
}

// uncovered returns the entries of a list of refusals without a row: the lines that begin with
// a tab. The last line before that does not is the reason.
func uncovered(t *testing.T, list string) (entries []string) {
	t.Helper()
	reason := ""
	for line := range strings.Lines(list) {
		pattern, isEntry := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "\t")
		switch {
		case !isEntry:
			reason = pattern
		case reason == "":
			t.Errorf("refusals.txt: without a reason: %s", pattern)
		default:
			entries = append(entries, pattern)
		}
	}
	return entries
}

// A refusal is what a script demands of the message of a command that fails.
type refusal struct {
	where   string // file:line
	command string
	pattern string // as the script has it; the command, if the script demands no message
	words   string // what the pattern says literally, with "…" between
}

// refusing are the exit codes with which the programs refuse. Of metax-ctk, 2 is an error of
// usage, and 4 says that a check has found something, which its output explains. The other
// codes of metax-docker and metax-runtime are those of the programs that they become.
var refusing = map[string][]string{
	"metax-ctk":     {"1", "3", "5"},
	"metax-docker":  {"125", "126", "127"},
	"docker-metax":  {"125", "126", "127"},
	"metax-runtime": {"1"},
}

// usage are words of errors of usage, for which metax-docker has no exit code of its own.
var usage = regexp.MustCompile(`did you mean|invalid (value|argument)|unknown (flag|way|value)|is not known|needs (an argument|two dashes|--)|is given twice|--help. lists|sets this label itself`)

// coveredBy returns the messages that cover a refusal: those whose words are all in it, or the
// only one in which the refusal is found, if it has two words or more.
func (r refusal) coveredBy(messages []string) (rows []string) {
	for _, m := range messages {
		if messagePattern(m, anyWords).MatchString(r.words) {
			rows = append(rows, m)
		}
	}
	if rows != nil || !strings.Contains(strings.TrimSpace(r.words), " ") {
		return rows
	}
	for _, m := range messages {
		if regexp.MustCompile(r.pattern).MatchString(m) {
			rows = append(rows, m)
		}
	}
	if len(rows) != 1 {
		return nil
	}
	return rows
}

// refusals returns the refusals in the scripts of all programs.
func refusals(t *testing.T) (all []refusal) {
	t.Helper()
	scripts, err := filepath.Glob("../cmd/*/testdata/*.txtar")
	if err != nil || len(scripts) < 30 {
		t.Fatal(len(scripts), err)
	}
	for _, path := range scripts {
		found, err := refusalsIn(strings.TrimPrefix(path, "../"), readFile(t, path))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, found...)
	}
	return all
}

// conditions are the words of a line of a script before its command.
var conditions = regexp.MustCompile(`^(\[[^]]*\] *)+`)

// refusalsIn returns the refusals in a script: what it demands of the standard error of each
// command that refuses, or of its standard output if it demands nothing of standard error.
func refusalsIn(path, text string) (all []refusal, err error) {
	script := txtar.Parse([]byte(text))
	failing := false // whether the last command that ran refused
	var last refusal
	var stderr, stdout []refusal
	end := func() {
		if failing {
			for _, demands := range [][]refusal{stderr, stdout, {last}} {
				if demands != nil {
					all = append(all, demands...)
					break
				}
			}
		}
		failing, stderr, stdout = false, nil, nil
	}
	for i, line := range strings.Split(string(script.Comment), "\n") {
		where := fmt.Sprintf("%s:%d", path, i+1)
		words := fields(conditions.ReplaceAllString(line, ""))
		begins := func(with ...string) bool {
			return len(words) > len(with) && slices.Equal(words[:len(with)], with)
		}
		demand := func(pattern string) error {
			literal, err := literalWords(pattern)
			if err != nil {
				return fmt.Errorf("%s: %w", where, err)
			}
			demands := &stdout
			if begins("stderr") || begins("cmp", "stderr") || begins("cmpenv", "stderr") {
				demands = &stderr
			}
			if *demands == nil {
				*demands = []refusal{}
			}
			if strings.ContainsAny(literal, "abcdefghijklmnopqrstuvwxyz0123456789") && !usage.MatchString(literal) {
				*demands = append(*demands, refusal{where, last.command, pattern, literal})
			}
			return nil
		}
		switch {
		case begins("exits"):
			end()
			command := strings.Join(words[2:], " ")
			codes, known := refusing[words[2]]
			if !known && words[1] != "0" {
				return nil, fmt.Errorf("%s: which exit codes has %s?", where, words[2])
			}
			failing = slices.Contains(codes, words[1])
			last = refusal{where, command, command, command}
		case begins("!", "exec"):
			end()
			failing = true
			command := strings.Join(words[2:], " ")
			last = refusal{where, command, command, command}
		case begins("exec"), len(words) > 0 && words[0] == "wait":
			end()
		case failing && (begins("stderr") || begins("stdout")):
			if err := demand(words[len(words)-1]); err != nil {
				return nil, err
			}
		case failing && len(words) == 3 && (words[0] == "cmp" || words[0] == "cmpenv") && (words[1] == "stderr" || words[1] == "stdout"):
			at := slices.IndexFunc(script.Files, func(f txtar.File) bool { return f.Name == words[2] })
			if at < 0 {
				return nil, fmt.Errorf("%s: the script has no file %s", where, words[2])
			}
			for line := range strings.Lines(string(script.Files[at].Data)) {
				if err := demand(regexp.QuoteMeta(strings.TrimSuffix(line, "\n"))); err != nil {
					return nil, err
				}
			}
		}
	}
	end()
	return all, nil
}

// fields returns the words of a line of a script, as testscript reads it.
func fields(line string) (words []string) {
	var word strings.Builder
	inWord, inQuotes := false, false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '\'' && inQuotes && strings.HasPrefix(line[i+1:], "'"):
			word.WriteByte(c)
			i++
		case c == '\'':
			inQuotes, inWord = !inQuotes, true
		case !inQuotes && (c == ' ' || c == '\t' || c == '#'):
			if inWord {
				words = append(words, word.String())
			}
			if c == '#' {
				return words
			}
			word.Reset()
			inWord = false
		default:
			word.WriteByte(c)
			inWord = true
		}
	}
	if inWord {
		words = append(words, word.String())
	}
	return words
}

// literalWords returns the words of each text that a pattern matches, with "…" for the rest.
func literalWords(pattern string) (string, error) {
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return "", err
	}
	return spell(tree), nil
}

func spell(tree *syntax.Regexp) string {
	switch tree.Op {
	case syntax.OpLiteral:
		return string(tree.Rune)
	case syntax.OpConcat, syntax.OpCapture:
		var all strings.Builder
		for _, sub := range tree.Sub {
			all.WriteString(spell(sub))
		}
		return all.String()
	case syntax.OpEmptyMatch, syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText, syntax.OpWordBoundary:
		return ""
	}
	return "…"
}

// TestRefusalsIn reads a script with a line of each kind.
func TestRefusalsIn(t *testing.T) {
	const script = `exits 0 metax-ctk pick 1
stderr 'a warning'
exits 2 metax-ctk pick x
stderr 'an error of usage'
exits 4 metax-ctk doctor
stdout 'a finding'
exits 7 metax-docker run image # docker's own
stderr 'no refusal'
! exec metax-ctk top
stderr 'it''s not \(quite\) a .*terminal$'
! stderr 'not said'
[root] exits 125 metax-docker run --gpus=9 image
env A=b
[root] stderr -count=1 '^metax-docker: 9 GPUs'
[root] stdout 'what it printed before'
exits 125 metax-docker run --gpu=1 image
stderr 'unknown flag: "--gpu"'
exits 1 metax-runtime create x
stderr '^.+$'
exits 3 metax-ctk ps
exits 5 metax-ctk pick 4
stdout 'then: no'
exits 1 metax-ctk ps -v
cmp stderr both.txt
exec true
stderr 'of another command'
-- both.txt --
first (1)
second
`
	want := []refusal{
		{"s:10", "metax-ctk top", `it's not \(quite\) a .*terminal$`, "it's not (quite) a …terminal"},
		{"s:14", "metax-docker run --gpus=9 image", "^metax-docker: 9 GPUs", "metax-docker: 9 GPUs"},
		{"s:20", "metax-ctk ps", "metax-ctk ps", "metax-ctk ps"},
		{"s:22", "metax-ctk pick 4", "then: no", "then: no"},
		{"s:24", "metax-ctk ps -v", `first \(1\)`, "first (1)"},
		{"s:24", "metax-ctk ps -v", "second", "second"},
	}
	got, err := refusalsIn("s", script)
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(refusal{})); diff != "" || err != nil {
		t.Errorf("%v\n(-want +got):\n%s", err, diff)
	}
	for _, broken := range []string{"exits 1 unknown-program", "exits 1 metax-ctk\nstderr '('", "exits 1 metax-ctk\ncmp stderr none.txt"} {
		if _, err := refusalsIn("s", broken); err == nil {
			t.Errorf("no error: %q", broken)
		}
	}
}

// TestCoveredBy decides whether a message covers a refusal.
func TestCoveredBy(t *testing.T) {
	messages := []string{"GPU … is in use by …", "the file is in the way; name another", "the spec is old"}
	for pattern, want := range map[string][]string{
		`^metax-ctk: GPU 0 is in use by container x$`: {"GPU … is in use by …"},
		`is in the way`: {"the file is in the way; name another"}, // a part of it
		`GPU 0 is idle`: nil,
		`way`:           nil, // one word fits anything
		`the \w+ is`:    nil, // and this fits two
	} {
		literal, err := literalWords(pattern)
		if err != nil {
			t.Fatal(err)
		}
		got := refusal{pattern: pattern, words: literal}.coveredBy(messages)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", pattern, diff)
		}
	}
}
