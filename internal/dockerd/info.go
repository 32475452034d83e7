// SPDX-License-Identifier: Apache-2.0

package dockerd

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Info is the part of the daemon's description of itself that the toolkit uses.
type Info struct {
	ServerVersion   string
	CgroupDriver    string
	SecurityOptions []string
	DefaultRuntime  string
	Runtimes        map[string]struct{ Path string }
	// CDISpecDirs are the directories of CDI specs that it reads; empty if CDI is off.
	CDISpecDirs []string
	// LiveRestoreEnabled is whether containers go on while the daemon restarts.
	LiveRestoreEnabled bool
	// DiscoveredDevices are the devices that it knows, from Docker 28.2 on.
	DiscoveredDevices []Discovered
}

// Discovered is a device that the daemon knows: its source, "cdi", and its name there.
type Discovered struct{ Source, ID string }

// Info returns the daemon's description of itself. The daemon runs its runtimes for their
// versions before it answers.
func (d Daemon) Info(ctx context.Context) (Info, Header, error) {
	header, text, err := d.Get(ctx, "/info")
	if err != nil {
		return Info{}, header, err
	}
	var i Info
	if err := json.Unmarshal(text, &i); err != nil {
		return Info{}, header, fmt.Errorf("read the info of the docker daemon at %s: %w", d.Socket, err)
	}
	return i, header, nil
}

// Rootless reports whether the daemon runs as a user; false for nil.
func (i *Info) Rootless() bool {
	return i != nil &&
		slices.ContainsFunc(i.SecurityOptions, func(o string) bool { return strings.HasPrefix(o, "name=rootless") })
}

// Userns reports whether the daemon runs containers in a user namespace; false for nil.
func (i *Info) Userns() bool { return i != nil && slices.Contains(i.SecurityOptions, "name=userns") }
