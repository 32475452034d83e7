// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/hostfs/hosttree"
	"github.com/metax-ctk/container-toolkit/internal/terminal"
)

// Answer is the result of running a program.
type Answer struct {
	// Argv is the program's name, without a directory, and its arguments.
	Argv []string
	// Out is its standard output.
	Out string
	// Failure is the error message; empty if the program succeeded.
	Failure string
	// Exited reports whether a program that failed was started and ended, with the exit
	// code Code; -1 if a signal ended it.
	Exited bool
	Code   int
}

// exitError is the error of a program that ended with an exit code.
type exitError struct {
	text string
	code int
}

func (e exitError) Error() string { return e.text }

// ExitCode is the program's exit code.
func (e exitError) ExitCode() int { return e.code }

// ErrUnasked reports a command that was not run when the snapshot was taken.
var ErrUnasked = errors.New("not run when the snapshot was taken")

// Record returns the Answer of a program that was run. If err has a method ExitCode,
// the program was started and ended.
func Record(argv []string, out []byte, err error) Answer {
	a := Answer{Argv: argv, Out: string(out)}
	if err != nil {
		a.Failure = terminal.Message(err.Error())
		var exit interface{ ExitCode() int }
		if errors.As(err, &exit) {
			a.Exited, a.Code = true, exit.ExitCode()
		}
	}
	return a
}

// Ask returns the recorded output and error of a command. It fails with ErrUnasked if
// there is none.
func (s Snapshot) Ask(argv ...string) ([]byte, error) {
	i := slices.IndexFunc(s.Answers, func(a Answer) bool { return slices.Equal(a.Argv, argv) })
	if i < 0 {
		return nil, fmt.Errorf("run %s: %w", strings.Join(argv, " "), ErrUnasked)
	}
	a := s.Answers[i]
	switch {
	case a.Failure == "":
		return []byte(a.Out), nil
	case a.Exited:
		return []byte(a.Out), exitError{a.Failure, a.Code}
	}
	return []byte(a.Out), errors.New(a.Failure)
}

// Asked reports whether any command of a program was recorded.
func (s Snapshot) Asked(program string) bool {
	return slices.ContainsFunc(s.Answers, func(a Answer) bool { return a.Argv[0] == program })
}

// answersDir is the directory of the tree with the answers; no host has a directory of
// that name. Each answer is a directory with these files.
const (
	answersDir  = ".answers"
	argvName    = "argv" // a word in each line
	outName     = "out"
	failureName = "failure" // the exit code or "-", a blank, the reason; if it failed
)

// addTo adds the nth answer to a tree.
func (a Answer) addTo(tree hosttree.Tree, n int) {
	dir := fmt.Sprintf("%s/%03d", answersDir, n)
	tree[dir+"/"+argvName] = hosttree.File{Data: strings.Join(a.Argv, "\n") + "\n"}
	tree[dir+"/"+outName] = hosttree.File{Data: a.Out}
	if a.Failure != "" {
		code := "-"
		if a.Exited {
			code = strconv.Itoa(a.Code)
		}
		tree[dir+"/"+failureName] = hosttree.File{Data: code + " " + a.Failure + "\n"}
	}
}

// extractAnswers removes the answers from a tree and returns them.
func extractAnswers(tree hosttree.Tree) ([]Answer, error) {
	bad := func(p, why string) ([]Answer, error) { return nil, fmt.Errorf("%w: %s: %s", ErrFormat, p, why) }
	var dirs []string
	for p, e := range tree {
		if !withinDir(p, answersDir) {
			continue
		}
		if _, ok := e.(hosttree.File); !ok || strings.Count(p, "/") != 2 {
			return bad(p, "not a file of an answer")
		}
		switch path.Base(p) {
		case argvName, outName, failureName: // the files of an answer
		default:
			return bad(p, "not a file of an answer")
		}
		if dir := path.Dir(p); !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
		if len(dirs) > 1000 {
			return bad(answersDir, "too many answers")
		}
	}
	slices.Sort(dirs)
	var all []Answer
	for _, dir := range dirs {
		text := func(name string) string {
			file, _ := tree[dir+"/"+name].(hosttree.File)
			delete(tree, dir+"/"+name)
			return file.Data
		}
		a := Answer{Out: text(outName)}
		if argv := strings.TrimSuffix(text(argvName), "\n"); argv != "" {
			a.Argv = strings.Split(argv, "\n")
		}
		if len(a.Argv) == 0 || a.Argv[0] == "" {
			return bad(dir, "no program")
		}
		if failure := strings.TrimSpace(text(failureName)); failure != "" {
			code, why, _ := strings.Cut(failure, " ")
			var err error
			if a.Exited = code != "-"; a.Exited {
				a.Code, err = strconv.Atoi(code)
			}
			a.Failure = why
			if err != nil || why == "" {
				return bad(dir, "no exit code and reason")
			}
		}
		all = append(all, a)
	}
	return all, nil
}
