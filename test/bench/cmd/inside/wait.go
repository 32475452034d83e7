// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/metax-ctk/container-toolkit/test/bench/internal/figure"
)

const (
	waiters     = 50
	waitSeconds = 20
)

// wait measures the processor time per second of all requests that wait for GPUs
// together, and of the daemon because of them. All GPUs of the node are in use.
func wait(container []string) (_ figure.Set, err error) {
	if _, err := output("metax-docker", "run", "--detach", "--network=none", "--name=last", "--gpus=2", container[0]); err != nil {
		return nil, err
	}
	defer func() {
		_, removed := output("docker", "rm", "--force", "last")
		err = errors.Join(err, removed)
	}()
	daemon, err := processesOf("dockerd")
	if err != nil {
		return nil, err
	}
	used, err := queue(take(container, "--gpus-wait=10m"), daemon)
	if err != nil {
		return nil, err
	}
	return figure.Set{
		"leases/wait/50/clients": figure.Summarise(figure.Nanoseconds, used[0]),
		"leases/wait/50/daemon":  figure.Summarise(figure.Nanoseconds, used[1]),
	}, nil
}

// queue is the processor time of the requests that wait, and of the daemon.
func queue(argv, daemon []string) ([][]float64, error) {
	var pids []string
	for range waiters {
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Env = append(os.Environ(), noClient)
		if err := cmd.Start(); err != nil {
			return nil, err
		}
		defer cmd.Wait() // killed
		defer cmd.Process.Kill()
		pids = append(pids, strconv.Itoa(cmd.Process.Pid))
	}
	time.Sleep(3 * time.Second) // all have begun to wait
	return eachSecond(pids, daemon)
}

// eachSecond is the processor time of each group of processes, in nanoseconds, second by
// second.
func eachSecond(groups ...[]string) ([][]float64, error) {
	values := make([][]float64, len(groups))
	last := make([]float64, len(groups))
	begin := time.Now()
	for second := range waitSeconds + 1 {
		time.Sleep(time.Until(begin.Add(time.Duration(second) * time.Second)))
		for i, pids := range groups {
			now, err := processorTime(pids)
			if err != nil {
				return nil, err
			}
			if second > 0 {
				values[i] = append(values[i], now-last[i])
			}
			last[i] = now
		}
	}
	return values, nil
}

// processorTime is what the processes have used so far, in nanoseconds; each has to live.
func processorTime(pids []string) (float64, error) {
	sum := 0.0
	for _, pid := range pids {
		threads, err := filepath.Glob("/proc/" + pid + "/task/*/schedstat")
		if err != nil {
			return 0, err
		}
		if len(threads) == 0 {
			return 0, fmt.Errorf("process %s has ended", pid)
		}
		for _, path := range threads {
			text, err := os.ReadFile(path)
			if err != nil {
				continue // a thread that has ended
			}
			var used float64
			if _, err := fmt.Sscan(string(text), &used); err != nil {
				return 0, fmt.Errorf("read %s: %w", path, err)
			}
			sum += used
		}
	}
	return sum, nil
}

// processesOf returns the processes that run a program.
func processesOf(program string) ([]string, error) {
	names, err := filepath.Glob("/proc/[0-9]*/comm")
	if err != nil {
		return nil, err
	}
	var pids []string
	for _, path := range names {
		if text, err := os.ReadFile(path); err == nil && strings.TrimSpace(string(text)) == program {
			pids = append(pids, filepath.Base(filepath.Dir(path)))
		}
	}
	if len(pids) == 0 {
		return nil, fmt.Errorf("no process runs %s", program)
	}
	return pids, nil
}
