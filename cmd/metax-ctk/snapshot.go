package main

import (
	"fmt"
	"os/exec"

	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/internal/atomicfile"
	"github.com/metax-ctk/container-toolkit/internal/capture"
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

Examples:
   metax-ctk snapshot --output node.txt
   metax-ctk --node node.txt topology print
   ssh gpu-host metax-ctk snapshot | metax-ctk --node - device list`,
		Flags: []cli.Flag{fileFlag()},
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
	return &cli.StringFlag{Name: "output", Value: "-", Usage: "write to `FILE`, which only you can read, or - for standard output"}
}

// snapshotHost returns the host of which snapshots are taken.
func (t toolkit) snapshotHost(c *cli.Context) (capture.Host, error) {
	at := t.selected(c)
	return capture.Host{Selector: at, LookPath: exec.LookPath, Run: runChild, Version: version()}, needsHost(c.Command.Name, at)
}

// savedSnapshot is a snapshot that was written to a file, as -o prints it.
type savedSnapshot struct {
	Path    string   `json:"path"`
	Files   int      `json:"files"`
	Answers int      `json:"answers"`
	Bytes   int      `json:"bytes"`
	Notes   []string `json:"notes"`
}

// saveSnapshot writes a snapshot to --output, and prints what is in it.
func (t toolkit) saveSnapshot(c *cli.Context, s capture.Taken) error {
	if s.Unknown != nil {
		t.warn(fmt.Sprintf("the snapshot was taken, but the node could not be discovered: %v", s.Unknown))
	}
	name := c.String("output")
	switch {
	case name == "":
		return usagef("--output is empty; want a file, or -")
	case name == "-" && c.String("output-format") != "table":
		return usagef("a snapshot is text: -o %s needs --output FILE", c.String("output-format"))
	}
	text, err := s.Format()
	if err != nil {
		return err
	}
	if name == "-" {
		_, err := t.Out.Write(text)
		return err
	}
	if _, err := atomicfile.Write(name, text, atomicfile.Options{Perm: 0o600}); err != nil {
		return fmt.Errorf("write snapshot: %w", err)
	}
	done := savedSnapshot{name, len(s.Tree), len(s.Answers), len(text), append([]string{}, s.Notes...)}
	head := fmt.Sprintf("%s: %d files, %s, %d bytes\n", name, done.Files, wording.Count(done.Answers, "answer"), done.Bytes)
	next := fmt.Sprintf("next: read it, then send it; to show the node: metax-ctk --node %s topology print\n", name)
	return t.print(c, done, head+lines(done.Notes)+next)
}
