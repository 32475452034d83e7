// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/metax-ctk/container-toolkit/test/bench/internal/figure"
	"github.com/metax-ctk/container-toolkit/test/bench/internal/stopwatch"
)

const memoryRounds = 20

// memory is the peak memory of the programs. It has to be the first that is measured: no
// process is seen to need less than the one that started it, which grows.
func memory([]string) (figure.Set, error) {
	r, err := stopwatch.Time(memoryRounds, generate("generate/8", "metax-ctk", tree8))
	if err != nil {
		return nil, err
	}
	return figure.Set{"memory/generate/8": r.Memory("generate/8")}, nil
}
