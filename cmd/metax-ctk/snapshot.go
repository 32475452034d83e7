package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/internal/atomicfile"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/node"
	"github.com/metax-ctk/container-toolkit/internal/snapshot"
	"github.com/metax-ctk/container-toolkit/internal/snapshot/capture"
	"github.com/metax-ctk/container-toolkit/internal/snapshot/scrub"
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
			taken, _, err := t.takeSnapshot(c)
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

// takeSnapshot takes the host's, and returns who knows the stand-ins in it. A host
// without a GPU, or one whose node cannot be told, has one too.
func (t toolkit) takeSnapshot(c *cli.Context) (snapshot.Snapshot, capture.Config, error) {
	at := t.where(c)
	if !at.IsHost() {
		return snapshot.Snapshot{}, capture.Config{}, needsHost("snapshot", at)
	}
	host, err := hostfs.New(at.Root)
	if err != nil {
		return snapshot.Snapshot{}, capture.Config{}, err
	}
	s := scrub.New()
	s.Root(host.Dir())
	from := capture.Config{Root: host, Scrub: s}
	r := &recorder{root: host}
	node, err := r.node(c.Context, at)
	if errors.Is(err, context.Canceled) {
		return snapshot.Snapshot{}, from, err
	}
	if err != nil {
		t.warn(fmt.Sprintf("the node is not known: %v", err))
	}
	r.engines(c.Context)
	learn(from.Scrub, node, host)
	all := snapshot.Snapshot{}
	all.Tree, all.Notes = capture.Take(from)
	for _, a := range r.answers {
		all.Answers = append(all.Answers, from.Answer(a))
	}
	all.Notes = append([]string{"taken by metax-ctk " + version() + byWhom()}, all.Notes...)
	return all, from, nil
}

// byWhom says who looked, as far as that matters to what was seen.
func byWhom() string {
	if os.Geteuid() == 0 {
		return ""
	}
	return ", not as root"
}

// learn tells the scrubber the names that cannot be told by their form, and has it
// number GPUs in their order.
func learn(s *scrub.Scrubber, node gpu.Node, host *hostfs.Root) {
	if name, err := os.Hostname(); err == nil && host.Real() {
		short, _, _ := strings.Cut(name, ".")
		s.Learn(scrub.Host, name, short)
	}
	if who, err := user.Current(); err == nil {
		s.Learn(scrub.User, who.Username)
	}
	s.Learn(scrub.User, os.Getenv("SUDO_USER"))
	for _, g := range node.GPUs {
		s.Learn(scrub.UUID, string(g.UUID))
		s.Learn(scrub.Serial, g.Serial)
		s.Word(scrub.UUID, string(g.UUID))
		s.Word(scrub.Serial, g.Serial)
		for _, part := range g.Slices {
			s.Learn(scrub.UUID, part.UUID)
			s.Learn(scrub.Alias, part.Alias)
		}
	}
	if node.MACA != nil {
		s.Learn(scrub.Version, node.MACA.Version)
	}
	if node.Driver != nil {
		s.Learn(scrub.Version, node.Driver.Version)
	}
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
func (t toolkit) keep(c *cli.Context, s snapshot.Snapshot) error {
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

// recorder keeps what programs answered.
type recorder struct {
	root    *hostfs.Root
	answers []snapshot.Answer
}

func (r *recorder) record(argv []string, out []byte, err error) {
	r.answers = append(r.answers, snapshot.Record(argv, out, err))
}

// node discovers the node and keeps what was asked for it, so that a replay can be
// asked the same.
func (r *recorder) node(ctx context.Context, at node.Where) (gpu.Node, error) {
	if library := at.Library; library != nil {
		at.Library = func(ctx context.Context, args ...string) ([]byte, error) {
			out, err := library(ctx, args...)
			r.record(append([]string{node.MXSML}, args[min(1, len(args)):]...), out, err)
			return out, err
		}
	}
	if run := at.Run; run != nil {
		at.Run = func(ctx context.Context, path string, args ...string) ([]byte, error) {
			out, err := run(ctx, path, args...)
			r.record(append([]string{node.SMI}, args...), out, err)
			return out, err
		}
	}
	return at.Load(ctx)
}
