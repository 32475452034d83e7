// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/discover"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/sim"
)

// readTimeout bounds the reading of all GPUs by libmxsml, and that by mx-smi.
const readTimeout = 5 * time.Second

// Readings returns what the GPUs of the node measure now, and where that is from: "libmxsml",
// "mx-smi", "driver" or "simulation". Those of a simulated node are made up, and depend only
// on the node and the number of the look. A file has none, and without a loaded driver nothing
// is run.
func (s Selector) Readings(ctx context.Context, n gpu.Node,
	look int,
) (readings []gpu.Reading, source string, err error) {
	if !s.IsHost() {
		if _, err := sim.Node(s.Node); err != nil {
			return nil, "", fmt.Errorf("the node %s is a file, which has no readings", s.Node)
		}
		return sim.Readings(n, look), "simulation", nil
	}
	if why := discover.NotLoaded(n); why != "" &&
		!slices.ContainsFunc(n.GPUs, func(g gpu.GPU) bool { return len(g.Nodes) > 0 }) {
		return nil, "", errors.New(why) // the vendor's tools would fail
	}
	root, err := hostfs.New(s.Root)
	if err != nil {
		return nil, "", err
	}
	return discover.Host{Root: root, Library: s.Library, Run: s.Run, Timeout: readTimeout}.Readings(ctx, n)
}
