// SPDX-License-Identifier: Apache-2.0

package refresh

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/atomicfile"
	"github.com/metax-ctk/container-toolkit/internal/health"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
)

// verdicts has the problems of all GPUs as of the last look that changed them, a line for
// each.
const verdicts = "/run/metax-container-toolkit/health"

// OnHealth requests a refresh if the GPUs of a host have other problems than at the look
// before, and reports whether they have. A failed look says nothing.
func OnHealth(host *hostfs.Root, look health.Look) (changed bool, err error) {
	if look.Failed != "" {
		return false, nil
	}
	var now strings.Builder
	for _, r := range look.Readings {
		for _, p := range r.Problems {
			fmt.Fprintln(&now, r.Key(), p.Code)
		}
	}
	before, err := host.ReadFile(verdicts)
	switch {
	case err == nil && string(before) == now.String():
		return false, nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return false, err
	}
	path, err := host.Place(verdicts)
	if err != nil {
		return false, err
	}
	Request(host)
	_, err = atomicfile.Write(path, []byte(now.String()), atomicfile.Options{Perm: 0o644})
	return true, err
}
