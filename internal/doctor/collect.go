// SPDX-License-Identifier: Apache-2.0

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

// Time limits: of each vendor's program; of any other query; of the first round
// together, and how long after that to wait for a collector that cannot be cancelled;
// and the least time of the second round.
const (
	vendorTimeout     = 4 * time.Second
	askTimeout        = 3 * time.Second
	firstRoundTimeout = 10 * time.Second
	graceTime         = 2 * time.Second
	secondRoundMin    = 2500 * time.Millisecond
)

// Config is what to examine, and how to query it.
type Config struct {
	Root *hostfs.Root
	// RecordPath is where cdi generate records the node.
	RecordPath string
	// Library and SMI run metax-mxsml and mx-smi; nil if they do not exist.
	Library mxsml.Run
	SMI     mxsmi.Run
	// Ask runs an engine's program and returns its output; nil if the root's programs
	// must not run on this machine.
	Ask func(ctx context.Context, path string, args ...string) ([]byte, error)
	// Here is whether the root is that of this machine, so that its daemons, its
	// environment and the toolkit's own programs count.
	Here bool
	// Trimmed is whether the root has only the files that discovery needs, as a
	// snapshot does; other files that are missing then mean nothing.
	Trimmed bool
	Getenv  func(string) string
	Asker   Asker
	// Self is the path of metax-ctk, and Version its version.
	Self, Version string
	// ConfigPath is the configuration file.
	ConfigPath string
	// Settings is why the configuration file cannot be used; nil if it can.
	Settings error
	Rules    []compat.Rule
	SpecDirs []string
	// Want makes the spec that the node would get; nil skips drift.
	Want func(node gpu.Node, opt cdi.Options) (*specs.Spec, error)
	// Leases reports who uses GPUs; nil skips leases. LeaseDir is their directory.
	Leases   func(ctx context.Context, node gpu.Node) (lease.Report, error)
	LeaseDir string
	// DockerSocket is the docker daemon's socket.
	DockerSocket string
	// Image is an image to compare with the driver; none if empty.
	Image string
}

// collector collects some of the facts. It may return facts and an error.
type collector struct {
	name    string
	collect func(ctx context.Context, c Config, known *Facts) (func(*Facts), error)
}

// The collectors of firstRound do not depend on each other; those of secondRound use
// the facts of firstRound.
var (
	firstRound = []collector{
		{"PCI and device nodes", kernelFacts},
		{"the node", nodeFacts},
		{"the software", softwareFacts},
		{"CDI specs", specFacts},
		{"the record", recordFacts},
		{"docker", dockerFacts},
		{"containerd", containerdFacts},
		{"Podman", podmanFacts},
		{"CRI-O", crioFacts},
		{"remote engines", remoteFacts},
		{"the system", systemFacts},
		{"programs", programFacts},
		{"the image", imageFacts},
	}
	secondRound = []collector{
		{"drift of CDI specs", driftFacts},
		{"leases", leaseFacts},
	}
)

// Collect queries everything at once and returns what is known after at most about 14
// seconds, even if something hangs.
func Collect(ctx context.Context, c Config) (*Facts, error) {
	f := &Facts{Root: c.Root.Dir(), Asker: c.Asker}
	if c.Trimmed {
		f.Root = "/" // findings are about the host itself
	}
	began := time.Now()
	runRound(ctx, firstRoundTimeout, graceTime, c, f, firstRound)
	runRound(ctx, max(firstRoundTimeout-time.Since(began), secondRoundMin), 0, c, f, secondRound)
	return f, ctx.Err()
}

// runRound runs one round of collectors until the timeout, and waits for the grace time
// for those that cannot be cancelled.
func runRound(ctx context.Context, timeout, last time.Duration, c Config, f *Facts, round []collector) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	end := time.After(timeout + last)
	type result struct {
		i     int
		apply func(*Facts)
		err   error
	}
	results := make(chan result, len(round))
	known := *f
	for i, one := range round {
		go func() {
			apply, err := one.collect(ctx, c, &known)
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
			f.Troubles = append(f.Troubles, Trouble{round[i].name, fmt.Sprintf("no answer within %v", timeout)})
			continue
		case r.err != nil:
			f.Troubles = append(f.Troubles, Trouble{round[i].name, r.err.Error()})
		}
		if r.apply != nil {
			r.apply(f)
		}
	}
}
