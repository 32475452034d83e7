// SPDX-License-Identifier: Apache-2.0

// Package completion has the scripts with which bash, zsh and fish complete a command
// line, and what they read. A script asks the program itself: "PROGRAM __complete WORD...",
// with the unfinished word last. It reads cobra's protocol, which docker speaks: a candidate
// on each line, with its description behind a tab, and a colon and a number at the end.
package completion

import (
	_ "embed"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/terminal"
)

// Verbs are the commands with which a script asks, with and without descriptions.
var Verbs = []string{"__complete", "__completeNoDesc"}

// Directive says what a shell does with candidates, as the sum of the following.
type Directive int

// The directives, with cobra's numbers.
const (
	failed   Directive = 1
	NoSpace  Directive = 2 // no blank follows the word
	NoFiles  Directive = 4 // the shell does not offer files instead
	patterns Directive = 8 | 16
)

// Candidate is a word that may be the one that is being written.
type Candidate struct{ Word, Help string }

// Answer is what a program answers to a script.
type Answer struct {
	Candidates []Candidate
	Directive  Directive
}

// Words returns candidates without descriptions.
func Words(words ...string) []Candidate {
	candidates := make([]Candidate, len(words))
	for i, w := range words {
		candidates[i].Word = w
	}
	return candidates
}

// Names returns the names of values, such as policies.
func Names[T fmt.Stringer](values []T) (candidates []Candidate) {
	for _, v := range values {
		candidates = append(candidates, Candidate{Word: v.String()})
	}
	return candidates
}

// From returns the candidates that begin with the unfinished word, behind which nothing
// else, such as a file, is offered.
func From(current string, candidates []Candidate) Answer {
	fit := slices.DeleteFunc(slices.Clone(candidates),
		func(c Candidate) bool { return !strings.HasPrefix(c.Word, current) })
	return Answer{fit, NoFiles}
}

// List completes the last of several words with commas: of "0,1" or "[0,1" the 1. Words that
// are in the list already are left out.
func List(current string, candidates []Candidate) Answer {
	at := lastWord(current)
	there := strings.Split(strings.TrimPrefix(current[:at], "["), ",")
	candidates = slices.DeleteFunc(slices.Clone(candidates),
		func(c Candidate) bool { return slices.Contains(there, c.Word) })
	return From(current[at:], candidates).Behind(current[:at], NoSpace)
}

// lastWord returns where the last word of a list begins.
func lastWord(list string) int { return strings.LastIndexAny(list, "[,") + 1 }

// Behind returns the answer with the prefix before each candidate, and more directives.
func (a Answer) Behind(prefix string, more Directive) Answer {
	for i := range a.Candidates {
		a.Candidates[i].Word = prefix + a.Candidates[i].Word
	}
	a.Directive |= more
	return a
}

// GPUs are the names of a node's GPUs: indices, or UUIDs for an unfinished word that
// begins as one.
func GPUs(current string, gpus []gpu.GPU) (candidates []Candidate) {
	last := current[lastWord(current):]
	for _, g := range gpus {
		word := strconv.Itoa(g.Index)
		if last != "" && strings.HasPrefix(string(g.UUID), last) {
			word = string(g.UUID)
		}
		what := []string{g.Model, g.BDF.String()}
		if !g.Healthy {
			what = append(what, "unhealthy")
		}
		candidates = append(candidates, Candidate{word, strings.Join(what, ", ")})
	}
	return candidates
}

// Print writes an answer as a script reads it.
func Print(w io.Writer, a Answer, describe bool) error {
	var b strings.Builder
	for _, c := range a.Candidates {
		b.WriteString(c.Word)
		if describe && c.Help != "" {
			b.WriteString("\t" + c.Help)
		}
		b.WriteByte('\n')
	}
	_, err := fmt.Fprintf(w, "%s:%d\n", b.String(), a.Directive)
	return err
}

// special are characters by which a word would be another one to a shell, or a command. The
// scripts do not quote words.
const special = " $`\\\"'&;|<>()*?!"

// Parse reads the answer of a cobra program. It leaves out words that a shell would not take
// as they are, or that would disturb a terminal: docker does not check all names. Where the
// answer names patterns of files instead of words, and where the text is not such an answer,
// the shell is to offer files.
func Parse(text string) Answer {
	var a Answer
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if n, ok := strings.CutPrefix(line, ":"); ok {
			directive, err := strconv.Atoi(n)
			a.Directive = Directive(directive)
			switch {
			case a.Directive&failed != 0:
				return Answer{Directive: NoFiles}
			case err != nil || a.Directive&patterns != 0:
				return Answer{}
			}
			return a
		}
		word, help, _ := strings.Cut(line, "\t")
		if word == "" || strings.HasPrefix(word, "_activeHelp_") || strings.ContainsAny(word, special) ||
			!terminal.Clean(word) {
			continue
		}
		a.Candidates = append(a.Candidates, Candidate{word, terminal.Line(help)})
	}
	return Answer{}
}

//go:embed completion.bash
var bash string

//go:embed completion.zsh
var zsh string

//go:embed completion.fish
var fish string

// Script returns the script of a shell for a program; ok is false for a shell that has none.
func Script(shell, program string) (script string, ok bool) {
	script, ok = map[string]string{"bash": bash, "zsh": zsh, "fish": fish}[shell]
	return strings.NewReplacer("PROGRAM", program, "FUNCTION", "_"+strings.ReplaceAll(program, "-", "_")).Replace(script),
		ok
}
