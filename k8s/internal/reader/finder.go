// SPDX-License-Identifier: Apache-2.0

package reader

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/discover"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/health"
	"github.com/metax-ctk/container-toolkit/internal/node"
)

// finder keeps what discovery found. Discovery runs the vendor's software several times, so it
// is done only when a look shows other GPUs or other problems than before, after an event, and
// rarely otherwise: nothing tells that a MetaXLink is lost.
type finder struct {
	discover func(context.Context) (gpu.Node, error)
	again    bool // whether discovery is due anyway

	call  node.Bounded[gpu.Node]
	found gpu.Node
	seen  string // what the look showed at the last discovery; empty before the first
	at    time.Time
}

// rediscover is the time between two discoveries of a node that looks the same.
const rediscover = 10 * time.Minute

// currentNode returns the node, which is that of the last discovery that did not fail.
func (f *finder) currentNode(ctx context.Context, look health.Look, now time.Time) (gpu.Node, error) {
	shows := fingerprint(look)
	if f.found.APIVersion == "" {
		f.found, f.again = gpu.NewNode(""), true
	}
	if !f.again && now.Sub(f.at) < rediscover && (look.Failed != "" || shows == f.seen) {
		return f.found, nil
	}
	n, err := f.call.Do(ctx, callTimeout, f.discover)
	f.at = now
	switch {
	case errors.Is(err, discover.ErrNoGPU):
		n = gpu.NewNode("")
	case err != nil:
		return f.found, err
	}
	f.found, f.seen, f.again = n, shows, false
	return n, nil
}

// fingerprint is the same for looks at the same GPUs with the same problems.
func fingerprint(look health.Look) string {
	var all []any
	for _, r := range look.Readings {
		all = append(all, r.GPU)
		for _, p := range r.Problems {
			all = append(all, p.Code)
		}
	}
	text, err := json.Marshal(all)
	if err != nil {
		return "" // does not happen: there are only numbers and strings
	}
	return string(text)
}
