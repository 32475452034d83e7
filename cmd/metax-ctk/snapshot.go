// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/internal/atomicfile"
	"github.com/metax-ctk/container-toolkit/internal/capture"
	"github.com/metax-ctk/container-toolkit/internal/child"
	"github.com/metax-ctk/container-toolkit/internal/wording"
)

func (t toolkit) snapshotCommand() *cli.Command {
	return &cli.Command{
		Name:      "snapshot",
		Usage:     "save the node in one text file, to look at it elsewhere",
		ArgsUsage: "[FILE]",
		Flags:     []cli.Flag{fileFlag()},
		Action: func(c *cli.Context) error {
			host, err := t.snapshotHost(c)
			if err != nil {
				return err
			}
			taken, err := host.Snapshot(c.Context)
			if err != nil {
				return err
			}
			return t.saveSnapshot(c, taken)
		},
	}
}

func fileFlag() cli.Flag {
	return &cli.StringFlag{Name: "output", Usage: "write to `FILE`, which only you can read, or - for standard output"}
}

// snapshotFile returns the name of the file that a snapshot is written to: the one on the
// command line, or else a new one in the current directory, with the command's name. The
// name does not contain the host's, because the snapshot does not either.
func snapshotFile(c *cli.Context) (string, error) {
	switch {
	case c.IsSet("output") && c.NArg() > 0:
		return "", usageErrorf("the file is named twice: by --output, and as %q", c.Args().First())
	case (c.IsSet("output") && c.String("output") == "") || (c.NArg() > 0 && c.Args().First() == ""):
		return "", usageErrorf("the name of the file is empty; write a name, or - for standard output")
	case c.IsSet("output"):
		return c.String("output"), nil
	case c.NArg() > 0:
		return c.Args().First(), nil
	}
	name := "metax-" + c.Command.Name
	for file, n := name+".txt", 2; ; n++ {
		if _, err := os.Lstat(file); err != nil {
			return file, nil
		}
		file = fmt.Sprintf("%s-%d.txt", name, n)
	}
}

// snapshotHost returns the host of which snapshots are taken.
func (t toolkit) snapshotHost(c *cli.Context) (capture.Host, error) {
	at := t.nodeSelector(c)
	return capture.Host{Selector: at, LookPath: exec.LookPath, Run: child.Run, Version: toolkitVersion()},
		needsHost(c.Command.Name, at)
}

// savedSnapshot is a snapshot that was written to a file, as -o prints it.
type savedSnapshot struct {
	Path string `json:"path"`
	// Replaced is whether there was a file of that name.
	Replaced bool     `json:"replaced"`
	Files    int      `json:"files"`
	Answers  int      `json:"answers"`
	Bytes    int      `json:"bytes"`
	Notes    []string `json:"notes"`
}

// saveSnapshot writes a snapshot to its file, and prints what is in it.
func (t toolkit) saveSnapshot(c *cli.Context, s capture.Taken) error {
	if s.Unknown != nil {
		t.warn(fmt.Sprintf("the snapshot was taken, but the node could not be discovered: %v", s.Unknown))
	}
	name, err := snapshotFile(c)
	if err != nil {
		return err
	}
	if name == "-" && c.String("output-format") != "table" {
		return usageErrorf("a snapshot is text: -o %s needs a file", c.String("output-format"))
	}
	text, err := s.Format()
	if err != nil {
		return err
	}
	if name == "-" {
		_, err := t.Out.Write(text)
		return err
	}
	_, missing := os.Lstat(name)
	if _, err := atomicfile.Write(name, text, atomicfile.Options{Perm: 0o600}); err != nil {
		return fmt.Errorf("write snapshot: %w", err)
	}
	done := savedSnapshot{
		Path: name, Replaced: missing == nil, Files: len(s.Tree), Answers: len(s.Answers),
		Bytes: len(text), Notes: append([]string{}, s.Notes...),
	}
	head := fmt.Sprintf("%s: %d files, %s, %d bytes\n", name, done.Files, wording.Count(done.Answers, "answer"),
		done.Bytes)
	if done.Replaced {
		head = strings.TrimSuffix(head, "\n") + "; it replaces an older file of this name\n"
	}
	next := fmt.Sprintf("next: read it, then send it; to show the node: metax-ctk --node %s topology print\n", name)
	return t.printResult(c, done, head+joinLines(done.Notes)+next)
}
