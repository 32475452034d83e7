// SPDX-License-Identifier: Apache-2.0

package label

import (
	"errors"

	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// ErrNoGPU reports a reading of the whole host, without an error, that found no GPU.
var ErrNoGPU = errors.New("no MetaX GPU in this node")

// CleanReadings is how many readings in a row must find no GPU before the node is labeled so.
const CleanReadings = 3

// State is what the readings so far have shown. The zero State is that before the first.
type State struct {
	absent int // readings in a row that found no GPU
}

// Next returns the state after another reading and the labels that the node should have now;
// nil labels say that those of the node stay as they are. found are the labels of a node with
// GPUs; err is ErrNoGPU, or another error if the host could not be read.
func (s State) Next(found map[string]string, err error) (State, map[string]string) {
	switch {
	case err == nil:
		return State{}, found
	case !errors.Is(err, ErrNoGPU):
		return State{}, nil
	}
	s.absent = min(s.absent+1, CleanReadings)
	if s.absent < CleanReadings {
		return s, nil
	}
	return s, map[string]string{protocol.LabelInstalled: "false"}
}
