// SPDX-License-Identifier: Apache-2.0

package discover

import (
	"errors"
	"fmt"

	"github.com/metax-ctk/container-toolkit/internal/discover/mxsmi"
	"github.com/metax-ctk/container-toolkit/internal/discover/mxsml"
	"github.com/metax-ctk/container-toolkit/internal/discover/mxsml/installed"
)

// errNoTool reports a host without an mx-smi that may be run.
var errNoTool = errors.New("there is no mx-smi")

// queryVendor calls library, which queries libmxsml and returns how many GPUs it lists. If
// libmxsml is absent, fails or lists no GPU, it calls tool, which queries mx-smi. A file named
// libmxsml.so that is another library counts as absent. source is "libmxsml" or "mx-smi",
// failed is the error of an installed libmxsml, and err that of tool, or errNoTool.
func (h Host) queryVendor(library func(mxsml.Reader) (gpus int, err error),
	tool func(mxsmi.Reader) error,
) (source string, failed, err error) {
	if path, ok := installed.Library(h.Root); ok && h.Library != nil {
		var gpus int
		gpus, failed = library(mxsml.Reader{Run: h.Library, Path: path, Timeout: h.Timeout})
		switch {
		case errors.Is(failed, mxsml.ErrUnusable):
			failed = nil
		case failed == nil && gpus == 0:
			failed = fmt.Errorf("query %s: it lists no GPU", path)
		case failed == nil:
			return sourceLibrary, nil, nil
		}
	}
	path, ok := h.Root.First(mxsmi.Paths())
	if !ok || h.Run == nil {
		return "", failed, errNoTool
	}
	return sourceTool, failed, tool(mxsmi.Reader{Run: h.Run, Path: path, Timeout: h.Timeout})
}
