// SPDX-License-Identifier: Apache-2.0

package inspected

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/holders"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// Source lists the containers with a lease that a user of Podman has, also those that do not
// run: these have no process, and podman alone knows them.
type Source struct {
	// Run runs podman with these words, as the user UID, and returns what it prints.
	Run     func(ctx context.Context, args ...string) ([]byte, error)
	UID     uint32
	Devices holders.Devices
}

// Name returns "podman" and no endpoint.
func (s Source) Name() (engine, endpoint string) { return podman, "" }

// Look returns the containers. One that is removed meanwhile makes the Sight partial.
func (s Source) Look(ctx context.Context, _ usage.Question) (usage.Sight, error) {
	text, err := s.Run(ctx, "ps", "--all", "--quiet", "--no-trunc", "--filter=label="+usage.LeaseLabel)
	if err != nil {
		return usage.Sight{Partial: true}, err
	}
	sight := usage.Sight{Users: []uint32{s.UID}}
	ids := strings.Fields(string(text))
	if len(ids) == 0 {
		return sight, nil
	}
	text, err = s.Run(ctx, append([]string{"inspect", "--type=container", "--"}, ids...)...)
	if err != nil {
		return usage.Sight{Partial: true}, err
	}
	var list []json.RawMessage
	if err := json.NewDecoder(bytes.NewReader(text)).Decode(&list); err != nil {
		return usage.Sight{Partial: true}, err
	}
	for _, one := range list {
		c, err := Container(podman, append(append([]byte{'['}, one...), ']'), s.Devices)
		if err != nil {
			return usage.Sight{Partial: true}, err
		}
		sight.Containers = append(sight.Containers, c)
	}
	return sight, nil
}
