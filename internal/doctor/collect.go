package doctor

import (
	"context"
	"fmt"
	"time"

	specs "tags.cncf.io/container-device-interface/specs-go"

	"github.com/metax-ctk/container-toolkit/internal/cdi"
	"github.com/metax-ctk/container-toolkit/internal/compat"
	"github.com/metax-ctk/container-toolkit/internal/discover/mxsmi"
	"github.com/metax-ctk/container-toolkit/internal/discover/mxsml"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/lease"
)

// The bounds: of the vendor's programs, each; of any other question; of all
// questions of the first round together, and how long after that a collector that
// cannot be ended is waited for; and what the second round has at least.
const (
	vendorPatience = 4 * time.Second
	askPatience    = 3 * time.Second
	allPatience    = 10 * time.Second
	lastPatience   = 3500 * time.Millisecond
	leastPatience  = time.Second
)

// Config says where to look and whom to ask.
type Config struct {
	Root *hostfs.Root
	// RecordPath is where cdi generate records the node.
	RecordPath string
	// Library and SMI run metax-mxsml and mx-smi; nil if they are not there.
	Library mxsml.Run
	SMI     mxsmi.Run
	// Ask runs an engine's program to its end and returns what it prints; nil where
	// the root's programs are not this machine's to run.
	Ask func(ctx context.Context, path string, args ...string) ([]byte, error)
	// Here tells that the root is that of this machine: its daemons, its environment
	// and the toolkit's own programs count.
	Here bool
	// Trimmed tells that the root holds only what discovery needs, as a snapshot
	// does: what is missing besides tells nothing.
	Trimmed bool
	Getenv  func(string) string
	Asker   Asker
	// Self is the path of metax-ctk, and Version its version.
	Self, Version string
	// Settings is why the configuration file cannot be used; nil if it can.
	ConfigPath string
	Settings   error
	Rules      []compat.Rule
	SpecDirs   []string
	// Want makes the spec that the node would get; nil leaves drift out.
	Want func(node gpu.Node, opt cdi.Options) (*specs.Spec, error)
	// Leases looks who holds GPUs; nil leaves them out. LeaseDir is where they are.
	Leases   func(ctx context.Context, node gpu.Node) (lease.Report, error)
	LeaseDir string
	// DockerSocket is that of the docker daemon.
	DockerSocket string
	// Image is an image to be held against the driver; none if empty.
	Image string
}

// collector finds some of the facts. What it returns beside an error counts too,
// unless it is nil.
type collector struct {
	name string
	look func(ctx context.Context, c Config, known *Facts) (func(*Facts), error)
}

// first ask nothing of one another; second need what first have found.
var (
	first = []collector{
		{"the kernel's view", kernelFacts},
		{"the node", nodeFacts},
		{"the software", softwareFacts},
		{"CDI specs", specFacts},
		{"the record", recordFacts},
		{"docker", dockerFacts},
		{"containerd", containerdFacts},
		{"Podman", podmanFacts},
		{"CRI-O", crioFacts},
		{"where engines are", remoteFacts},
		{"the system", systemFacts},
		{"programs", programFacts},
		{"the image", imageFacts},
	}
	second = []collector{
		{"drift of CDI specs", driftFacts},
		{"leases", leaseFacts},
	}
)

// Collect asks everything at once and returns what is known in the end, within
// about 14 seconds whatever hangs.
func Collect(ctx context.Context, c Config) (*Facts, error) {
	f := &Facts{Root: c.Root.Dir(), Asker: c.Asker}
	if c.Trimmed {
		f.Root = "/" // findings are about the host itself
	}
	began := time.Now()
	gather(ctx, allPatience, lastPatience, c, f, first)
	gather(ctx, max(allPatience-time.Since(began), leastPatience), 0, c, f, second)
	return f, ctx.Err()
}

// gather runs one round of collectors, which have patience, and waits last for
// those that do not mind its end.
func gather(ctx context.Context, patience, last time.Duration, c Config, f *Facts, round []collector) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	end := time.After(patience + last)
	type result struct {
		i     int
		apply func(*Facts)
		err   error
	}
	results := make(chan result, len(round))
	known := *f
	for i, one := range round {
		go func() {
			apply, err := one.look(ctx, c, &known)
			results <- result{i, apply, err}
		}()
	}
	done := make([]*result, len(round))
	for range round {
		select {
		case r := <-results:
			done[r.i] = &r
			continue
		case <-end:
		}
		break
	}
	for i, r := range done {
		switch {
		case r == nil:
			f.Troubles = append(f.Troubles, Trouble{round[i].name, fmt.Sprintf("no answer within %v", patience)})
			continue
		case r.err != nil:
			f.Troubles = append(f.Troubles, Trouble{round[i].name, r.err.Error()})
		}
		if r.apply != nil {
			r.apply(f)
		}
	}
}
