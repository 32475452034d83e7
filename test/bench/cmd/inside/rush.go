// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/metax-ctk/container-toolkit/test/bench/internal/figure"
)

const (
	// rushStarts is how many starts there are at once.
	rushStarts = 200
	rushRounds = 2
)

// rush is the time of each of many starts at once. They share GPUs, so that none waits for
// another to end.
func rush(container []string) (figure.Set, error) {
	restore, err := reconcile("/")
	if err != nil {
		return nil, err
	}
	wrapper := take(container, "--gpus-share")
	docker, err := dryRun(wrapper)
	if err != nil {
		return nil, err
	}
	ways := []way{{"docker", docker}, {"wrapper", wrapper}}
	each := map[string][]float64{}
	for round := range rushRounds {
		for i := range ways {
			if round%2 == 1 {
				i = len(ways) - 1 - i
			}
			if err := restore(); err != nil {
				return nil, err
			}
			took, err := ways[i].rush()
			if err != nil {
				return nil, err
			}
			each[ways[i].name] = append(each[ways[i].name], took...)
		}
	}
	set := figure.Set{}
	for name := range each {
		set["rush/"+name+"/each"] = figure.Summarise(figure.Nanoseconds, each[name])
	}
	return set, restore()
}

// way is a command of which many start at once.
type way struct {
	name string
	argv []string
}

// rush starts them and waits for all; each is in nanoseconds. Those that docker itself failed,
// as it does when its daemon is late to answer, are not among them.
func (w way) rush() (each []float64, err error) {
	type end struct {
		took float64
		said string
		err  error
	}
	ends := make([]end, rushStarts)
	var starts sync.WaitGroup
	for i := range ends {
		starts.Go(func() {
			var said bytes.Buffer
			cmd := exec.Command(w.argv[0], w.argv[1:]...)
			cmd.Stderr = &said
			err := cmd.Start()
			own := time.Now() // this program starts one at a time; their time does not include that
			if err == nil {
				err = cmd.Wait()
			}
			ends[i] = end{float64(time.Since(own)), said.String(), err}
		})
	}
	starts.Wait()
	for _, e := range ends {
		switch {
		case e.err == nil:
			each = append(each, e.took)
		case !strings.Contains("\n"+e.said, "\ndocker: "):
			return nil, fmt.Errorf("run %q: %w\n%s", w.argv, e.err, e.said)
		}
	}
	if len(each) == 0 {
		return nil, fmt.Errorf("run %q: all fail, the first with %w\n%s", w.argv, ends[0].err, ends[0].said)
	}
	return each, nil
}
