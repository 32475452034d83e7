// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"context"
	"fmt"

	"github.com/metax-ctk/container-toolkit/internal/engine/dropin"
	"github.com/metax-ctk/container-toolkit/internal/holders/procfs"
)

// InUse returns, one a line, what would break if metax-runtime were removed: engines of which
// it is the default runtime, and containers that run by it. Each line names what to do. An
// engine whose configuration cannot be read is left out; the error is that of finding the
// engines.
func (h Host) InUse(ctx context.Context, proc *procfs.Proc) ([]string, error) {
	engines, err := h.Found(ctx)
	if err != nil {
		return nil, err
	}
	var lines []string
	for _, e := range engines {
		state, err := e.State()
		if err != nil || state.Default == "" {
			continue
		}
		if path := state.Runtimes[state.Default]; dropin.IsShim(path) || (path == "" && state.Default == DefaultName) {
			lines = append(lines, fmt.Sprintf(
				"%s has %s as its default runtime, so none of its containers would start. To undo that: metax-ctk runtime configure --engine %[1]s --remove --restart", e.Name, state.Default))
		}
	}
	for _, container := range proc.RunBy(dropin.IsShim) {
		lines = append(lines, container+" runs by metax-runtime, without which its engine cannot stop it: stop it first")
	}
	return lines, nil
}
