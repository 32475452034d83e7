package main

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/internal/atomicfile"
	"github.com/metax-ctk/container-toolkit/internal/capture"
	"github.com/metax-ctk/container-toolkit/internal/discover"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/wording"
)

func (t toolkit) snapshotCommand() *cli.Command {
	return &cli.Command{
		Name:  "snapshot",
		Usage: "save the node in one text file, to look at it elsewhere",
		Description: `The file contains sysfs, /dev and /opt files about the GPUs, the output of mx-smi
and libmxsml, and the values that the toolkit reads from CDI specs and engine
configurations. Serial numbers, UUIDs, addresses and names (hosts, people,
containers) are replaced by placeholders. Programs are not included. Run it as
root: otherwise some files cannot be read; the head of the file lists them. Read
the file before you send it.

Without FILE, it writes metax-snapshot-NODE.txt here, NODE being the host's name.

Examples:
   sudo metax-ctk snapshot
   metax-ctk --node metax-snapshot-gpu7.txt topology print
   ssh gpu-host metax-ctk snapshot - | metax-ctk --node - device list`,
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

// plainName matches a host's name that can be a part of a file's name.
var plainName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// snapshotFile is where a snapshot goes: the file of the command line, or else one of this
// directory that is named for the command and the host.
func (t toolkit) snapshotFile(c *cli.Context) (string, error) {
	switch {
	case c.IsSet("output") && c.NArg() > 0:
		return "", usagef("the file is named twice: by --output, and as %q", c.Args().First())
	case c.IsSet("output") && c.String("output") == "" || c.NArg() > 0 && c.Args().First() == "":
		return "", usagef("the file is empty; want its name, or - for standard output")
	case c.IsSet("output"):
		return c.String("output"), nil
	case c.NArg() > 0:
		return c.Args().First(), nil
	}
	host, err := hostfs.New(t.selected(c).Root)
	if err != nil {
		return "", err
	}
	name := "metax-" + c.Command.Name
	if node := discover.Hostname(host); plainName.MatchString(node) {
		name += "-" + node
	}
	return name + ".txt", nil
}

// snapshotHost returns the host of which snapshots are taken.
func (t toolkit) snapshotHost(c *cli.Context) (capture.Host, error) {
	at := t.selected(c)
	return capture.Host{Selector: at, LookPath: exec.LookPath, Run: runChild, Version: version()}, needsHost(c.Command.Name, at)
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
	name, err := t.snapshotFile(c)
	if err != nil {
		return err
	}
	if name == "-" && c.String("output-format") != "table" {
		return usagef("a snapshot is text: -o %s needs a file", c.String("output-format"))
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
	done := savedSnapshot{name, missing == nil, len(s.Tree), len(s.Answers), len(text), append([]string{}, s.Notes...)}
	head := fmt.Sprintf("%s: %d files, %s, %d bytes\n", name, done.Files, wording.Count(done.Answers, "answer"), done.Bytes)
	if done.Replaced {
		head = strings.TrimSuffix(head, "\n") + "; it replaces an older file of this name\n"
	}
	next := fmt.Sprintf("next: read it, then send it; to show the node: metax-ctk --node %s topology print\n", name)
	return t.print(c, done, head+lines(done.Notes)+next)
}
