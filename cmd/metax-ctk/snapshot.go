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
		Usage: "keep the node in one text file, by which it can be looked at elsewhere",
		Description: `In it are the files of sysfs, /dev and /opt that tell of the GPUs, what mx-smi
and libmxsml said, and of CDI specs and the configurations of engines the values
that the toolkit reads. Serial numbers, UUIDs, addresses, names of hosts, people
and containers are replaced by stand-ins. It holds no program, and what cannot be
read is named at its head: as root it is complete. Read it before you send it.

Examples:
   metax-ctk snapshot --output node.txt
   metax-ctk --node node.txt topology print
   ssh gpu-host metax-ctk snapshot | metax-ctk --node - device list`,
		Flags: []cli.Flag{fileFlag()},
		Action: func(c *cli.Context) error {
			host, err := t.captured(c)
			if err != nil {
				return err
			}
			taken, err := host.Snapshot(c.Context)
			if err != nil {
				return err
			}
			return t.keep(c, taken)
		},
	}
}

func fileFlag() cli.Flag {
	return &cli.StringFlag{Name: "output", Value: "-", Usage: "write to `FILE`, that only you can read, or - for standard output"}
}

// captured is the host of which snapshots are taken.
func (t toolkit) captured(c *cli.Context) (capture.Host, error) {
	at := t.where(c)
	return capture.Host{Where: at, Find: exec.LookPath, Ask: runChild, Version: version()}, needsHost("snapshot", at)
}

// kept is a snapshot that was written to a file, as -o prints it.
type kept struct {
	Path    string   `json:"path"`
	Files   int      `json:"files"`
	Answers int      `json:"answers"`
	Bytes   int      `json:"bytes"`
	Notes   []string `json:"notes"`
}

// keep writes a snapshot where the command line says, and says what it is.
func (t toolkit) keep(c *cli.Context, s capture.Taken) error {
	if s.Unknown != nil {
		t.warn(fmt.Sprintf("the node is not known: %v", s.Unknown))
	}
	name := c.String("output")
	switch {
	case name == "":
		return usagef("--output is empty; want a file, or -")
	case name == "-" && c.String("output-format") != "table":
		return usagef("a snapshot is text; -o %s is about the file that --output names", c.String("output-format"))
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
	done := kept{name, len(s.Tree), len(s.Answers), len(text), append([]string{}, s.Notes...)}
	head := fmt.Sprintf("%s: %d files, %s, %d bytes\n", name, done.Files, wording.Count(done.Answers, "answer"), done.Bytes)
	next := fmt.Sprintf("read it before you send it; it shows the node by: metax-ctk --node %s topology print\n", name)
	return t.print(c, done, head+lines(done.Notes)+next)
}
