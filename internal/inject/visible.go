// SPDX-License-Identifier: Apache-2.0

package inject

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/dockerargs"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// visible are the variables by which MXMACA hides GPUs from a program; the first that is set
// counts.
var visible = []string{"MACA_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"}

// Hides says which variable of the line, or of its files, hides GPUs that the container is
// given, because it counts them as the host does; empty if none does. The devices are the
// whole GPUs of the container, or its slices, of which UUIDs are not compared. readFile and
// getenv are as for MACA.
func Hides(flags dockerargs.Flags, gpus []gpu.GPU, parts []gpu.Slice, readFile func(string) (string, error),
	getenv func(string) (string, bool),
) string {
	env, err := newEnviron(nil, flags, readFile, getenv)
	if err != nil {
		return "" // docker says so
	}
	name := ""
	for _, v := range visible {
		if _, ok := env.values[v]; ok {
			name = v
			break
		}
	}
	value := env.values[name]
	if strings.TrimSpace(value) == "" || strings.HasPrefix(value, "-") {
		return "" // to have no GPU
	}
	n := len(gpus)
	if parts != nil {
		n = len(parts)
	}
	kept, hidden := 0, false
	for word := range strings.SplitSeq(value, ",") {
		word = strings.TrimSpace(word)
		index, err := strconv.Atoi(word)
		uuids := func(g gpu.GPU) bool {
			return g.UUID == "" || strings.HasPrefix(strings.ToLower(string(g.UUID)), strings.ToLower(word))
		}
		switch {
		case err == nil && index < n, err != nil && (parts != nil || slices.ContainsFunc(gpus, uuids)):
			kept++
		default:
			hidden = true
		}
	}
	if !hidden {
		return ""
	}
	leaves := "no GPU"
	if kept > 0 {
		leaves = fmt.Sprintf("only %d of %d GPUs", kept, n)
	}
	return fmt.Sprintf("%s=%s leaves %s: in the container they count from 0. Leave it out to use all", name, value, leaves)
}
