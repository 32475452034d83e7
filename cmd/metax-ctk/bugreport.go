package main

import (
	"cmp"
	"fmt"
	"runtime"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/internal/doctor"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/hostfs/hosttree"
	"github.com/metax-ctk/container-toolkit/internal/snapshot"
)

// bugreportCommand is a snapshot with what doctor says: doctor prints its findings.
func (t toolkit) bugreportCommand(doctor func(*cli.Context) (string, error)) *cli.Command {
	return &cli.Command{
		Name:  "bugreport",
		Usage: "collect what a bug report needs in one text file: a snapshot, doctor's findings, versions",
		Description: `It is a snapshot (metax-ctk snapshot) with two more parts: the versions of the
toolkit and of what is below it, and what metax-ctk doctor finds. A part that
cannot be made says why. Read it before you send it.

Examples:
   metax-ctk bugreport --output report.txt
   metax-ctk --node report.txt device list`,
		Flags: []cli.Flag{fileFlag()},
		Action: func(c *cli.Context) error {
			s, from, err := t.takeSnapshot(c)
			if err != nil {
				return err
			}
			s.Reports = map[string]string{
				"versions": versions(s),
				"doctor":   from.Scrub.Text(ofHost(from.Root, report(func() (string, error) { return doctor(c) }))),
			}
			return t.keep(c, s)
		},
	}
}

// ofHost has commands as they are given on the host itself, where nobody names a root.
func ofHost(root *hostfs.Root, text string) string {
	if root.Real() {
		return text
	}
	rooted := doctor.Step{Toolkit: []string{"--root", root.Dir()}}
	return strings.ReplaceAll(text, rooted.String()+" ", "metax-ctk ")
}

// report is what a part of a bug report prints, and why it came to no end.
func report(part func() (string, error)) (text string) {
	defer func() {
		if broken := recover(); broken != nil {
			text = fmt.Sprintf("this part is broken: %v\n", broken)
		}
	}()
	text, err := part()
	if err != nil {
		return fmt.Sprintf("failed: %v\n", err)
	}
	return text
}

// versions is what a report says first, out of a snapshot.
func versions(s snapshot.Snapshot) string {
	var b strings.Builder
	fmt.Fprintf(&b, "metax-ctk %s (%s, %s/%s)\n", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	for _, line := range []struct{ what, path string }{
		{"kernel", "proc/sys/kernel/osrelease"},
		{"driver", "sys/module/metax/version"},
	} {
		fmt.Fprintf(&b, "%s: %s\n", line.what, fileOr(s, line.path, "not known"))
	}
	release := fileOr(s, "etc/os-release", fileOr(s, "usr/lib/os-release", ""))
	for line := range strings.Lines(release) {
		if name, ok := strings.CutPrefix(line, "PRETTY_NAME="); ok {
			fmt.Fprintf(&b, "system: %s\n", strings.Trim(strings.TrimSpace(name), `"`))
		}
	}
	for _, a := range s.Answers {
		if len(a.Argv) != 2 || a.Argv[1] != "--version" {
			continue
		}
		said, _, _ := strings.Cut(strings.TrimSpace(a.Out), "\n")
		if a.Failure != "" {
			said = "failed: " + a.Failure
		}
		fmt.Fprintf(&b, "%s: %s\n", a.Argv[0], said)
	}
	return b.String()
}

// fileOr is what a file of a snapshot holds, or a word where there is none.
func fileOr(s snapshot.Snapshot, path, otherwise string) string {
	file, _ := s.Tree[path].(hosttree.File)
	return cmp.Or(strings.TrimSpace(file.Data), otherwise)
}

// doctorText is what doctor finds.
func (t toolkit) doctorText(c *cli.Context) (string, error) {
	found, err := t.diagnose(c, doctor.Checks())
	if err != nil {
		return "", err
	}
	return found.Text(), nil
}
