package main

import (
	"bytes"
	"fmt"
	"os"
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
	// rushBareRounds is for those that start no container.
	rushBareRounds = 10
)

// rush is the time of many starts at once: each by itself, and from the first to the end of
// the last. They share GPUs, so that none waits for another to end.
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
	set := figure.Set{}
	for _, group := range []struct {
		rounds int
		ways   []way
	}{
		{rushBareRounds, []way{{"client", nil, []string{"/e2e/nothing"}}, {"bare", []string{noClient}, wrapper}}},
		{rushRounds, []way{{"docker", nil, docker}, {"wrapper", nil, wrapper}}},
	} {
		total, each, failed := map[string][]float64{}, map[string][]float64{}, map[string][]float64{}
		for round := range group.rounds {
			for i := range group.ways {
				if round%2 == 1 {
					i = len(group.ways) - 1 - i
				}
				w := group.ways[i]
				if err := restore(); err != nil {
					return nil, err
				}
				all, one, err := w.rush()
				if err != nil {
					return nil, err
				}
				total[w.name] = append(total[w.name], all)
				each[w.name] = append(each[w.name], one...)
				failed[w.name] = append(failed[w.name], float64(rushStarts-len(one)))
			}
		}
		for name := range total {
			set["rush/"+name+"/all"] = figure.Summarise(figure.Nanoseconds, total[name])
			set["rush/"+name+"/each"] = figure.Summarise(figure.Nanoseconds, each[name])
			set["rush/"+name+"/failed"] = figure.Summarise(figure.Count, failed[name])
		}
	}
	return set, restore()
}

// way is a command of which many start at once.
type way struct {
	name string
	env  []string
	argv []string
}

// rush starts them and waits for all, in nanoseconds. Those that docker itself failed, as it
// does when its daemon is late to answer, are not among each.
func (w way) rush() (all float64, each []float64, err error) {
	type end struct {
		took float64
		said string
		err  error
	}
	ends := make([]end, rushStarts)
	var starts sync.WaitGroup
	begin := time.Now()
	for i := range ends {
		starts.Go(func() {
			var said bytes.Buffer
			cmd := exec.Command(w.argv[0], w.argv[1:]...)
			cmd.Env = append(os.Environ(), w.env...)
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
	all = float64(time.Since(begin))
	for _, e := range ends {
		switch {
		case e.err == nil:
			each = append(each, e.took)
		case !strings.Contains("\n"+e.said, "\ndocker: "):
			return 0, nil, fmt.Errorf("run %q: %w\n%s", w.argv, e.err, e.said)
		}
	}
	if len(each) == 0 {
		return 0, nil, fmt.Errorf("run %q: all fail, the first with %w\n%s", w.argv, ends[0].err, ends[0].said)
	}
	return all, each, nil
}
