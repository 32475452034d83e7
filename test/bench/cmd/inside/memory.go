package main

import (
	"errors"

	"github.com/metax-ctk/container-toolkit/test/bench/internal/figure"
	"github.com/metax-ctk/container-toolkit/test/bench/internal/stopwatch"
)

const memoryRounds = 20

// memory is the peak memory of the programs. It has to be the first that is measured: no
// process is seen to need less than the one that started it, which is "floor" and grows.
func memory(container []string) (figure.Set, error) {
	restore, err := reconcile("/")
	if err != nil {
		return nil, err
	}
	r, err := stopwatch.Time(memoryRounds,
		stopwatch.Process("floor", nil, "/e2e/nothing"),
		after(restore, stopwatch.Process("wrapper", []string{noClient}, append([]string{"metax-docker", "run", "--gpus=4"}, container...)...)),
		generate("generate/8", tree8),
		generate("generate/64", tree64),
	)
	if err = errors.Join(err, restore()); err != nil {
		return nil, err
	}
	set := figure.Set{}
	for name := range r {
		set["memory/"+name] = r.Memory(name)
	}
	return set, nil
}
