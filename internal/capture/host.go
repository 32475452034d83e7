// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"context"
	"errors"
	"os"
	"os/user"
	"strings"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/node"
	"github.com/metax-ctk/container-toolkit/internal/snapshot"
	"github.com/metax-ctk/container-toolkit/internal/snapshot/scrub"
)

// Host is a host, and how the programs of its engines are found and run.
type Host struct {
	Selector node.Selector
	LookPath func(program string) (path string, err error)
	Run      func(ctx context.Context, path string, args ...string) ([]byte, error)
	// Version is that of metax-ctk.
	Version string
}

// Taken is a snapshot, with what scrubs more texts by the same stand-ins.
type Taken struct {
	snapshot.Snapshot
	// Unknown is why the node could not be discovered; nil if it was.
	Unknown error
	from    Config
}

// Snapshot takes one, also of a host that has no GPU, or whose node cannot be
// discovered.
func (h Host) Snapshot(ctx context.Context) (Taken, error) {
	root, err := hostfs.New(h.Selector.Root)
	if err != nil {
		return Taken{}, err
	}
	taken := Taken{from: Config{Root: root, Scrub: scrub.New()}}
	taken.from.Scrub.Root(root.Dir())
	var r recorder
	n, err := r.node(ctx, h.Selector)
	if errors.Is(err, context.Canceled) {
		return Taken{}, err
	}
	taken.Unknown = err
	if root.Real() { // programs below another root are another system's
		r.engines(ctx, h)
	}
	learn(taken.from.Scrub, n, root)
	taken.Tree, taken.Notes = Take(taken.from)
	for _, a := range r.answers {
		taken.Answers = append(taken.Answers, taken.from.Answer(a))
	}
	by := "taken by metax-ctk " + h.Version
	if os.Geteuid() != 0 {
		by += ", not as root"
	}
	taken.Notes = append([]string{by}, taken.Notes...)
	return taken, nil
}

// learn makes the names known that have no form of their own, and has GPUs numbered in
// their order.
func learn(s *scrub.Scrubber, n gpu.Node, host *hostfs.Root) {
	if name, err := os.Hostname(); err == nil && host.Real() {
		short, _, _ := strings.Cut(name, ".")
		s.Learn(scrub.Host, name, short)
	}
	if who, err := user.Current(); err == nil {
		s.Learn(scrub.User, who.Username)
	}
	s.Learn(scrub.User, os.Getenv("SUDO_USER"))
	for _, g := range n.GPUs {
		s.Learn(scrub.UUID, string(g.UUID))
		s.Learn(scrub.Serial, g.Serial)
		s.Word(scrub.UUID, string(g.UUID))
		s.Word(scrub.Serial, g.Serial)
		for _, part := range g.Slices {
			s.Learn(scrub.UUID, part.UUID)
			s.Learn(scrub.Alias, part.Alias)
		}
	}
	if n.MACA != nil {
		s.Learn(scrub.Version, n.MACA.Version)
	}
	if n.Driver != nil {
		s.Learn(scrub.Version, n.Driver.Version)
	}
}

// recorder keeps what programs answered.
type recorder struct{ answers []snapshot.Answer }

func (r *recorder) record(argv []string, out []byte, err error) {
	r.answers = append(r.answers, snapshot.Record(argv, out, err))
}

// node discovers the node and keeps the questions and answers for a replay.
func (r *recorder) node(ctx context.Context, at node.Selector) (gpu.Node, error) {
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
	at.Surroundings = true
	return at.Load(ctx)
}

// engineQuestions are what a snapshot keeps of engines and their tools.
var engineQuestions = [][]string{
	{"docker", "--version"},
	{"docker", "info", "--format", "{{json .}}"},
	{"containerd", "--version"},
	{"containerd", "config", "dump"},
	{"crio", "--version"},
	{"podman", "--version"},
	{"nerdctl", "--version"},
	{"runc", "--version"},
	{"crun", "--version"},
}

// engineTimeout bounds how long an engine may take to answer.
const engineTimeout = 5 * time.Second

// engines runs the programs of those that are installed.
func (r *recorder) engines(ctx context.Context, h Host) {
	for _, argv := range engineQuestions {
		path, err := h.LookPath(argv[0])
		if err != nil {
			continue
		}
		bounded, cancel := context.WithTimeout(ctx, engineTimeout)
		out, err := h.Run(bounded, path, argv[1:]...)
		cancel()
		r.record(argv, out, err)
	}
}
