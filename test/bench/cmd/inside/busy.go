// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/holders"
	"github.com/metax-ctk/container-toolkit/internal/holders/procfs"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/usage"
	"github.com/metax-ctk/container-toolkit/test/bench/internal/figure"
	"github.com/metax-ctk/container-toolkit/test/bench/internal/stopwatch"
)

// crowds are the containers that run, how many processes each has, and how many descriptors
// each of these.
var crowds = []struct{ containers, processes, descriptors int }{{0, 0, 0}, {25, 20, 20}, {40, 50, 50}, {40, 100, 100}}

const busyRounds = 15

// busy measures a start beside each of the crowds.
func busy(container []string) (rows []figure.Busy, err error) {
	for _, c := range crowds {
		row, err := besideCrowd(container, c.containers, c.processes, c.descriptors)
		if err != nil {
			return nil, fmt.Errorf("measure beside %d containers: %w", c.containers, err)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// besideCrowd measures beside so many containers.
func besideCrowd(container []string, containers, processes, descriptors int) (row figure.Busy, err error) {
	for range containers {
		leave, err := startCrowd(container[0], processes, descriptors)
		if err != nil {
			return row, err
		}
		defer func() { err = errors.Join(err, leave()) }()
	}
	row, err = measureBeside(container)
	row.Containers = containers
	return row, err
}

// startCrowd starts a container with processes; leave ends it.
func startCrowd(image string, processes, descriptors int) (leave func() error, err error) {
	cmd := exec.Command("docker", "run", "--rm", "--interactive", "--network=none", "--volume=/e2e/crowd:/usr/bin/crowd:ro", image,
		"/usr/bin/crowd", strconv.Itoa(processes), strconv.Itoa(descriptors))
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	leave = func() error { return errors.Join(stdin.Close(), cmd.Wait()) }
	if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "ready\n" {
		return nil, errors.Join(fmt.Errorf("crowd says %q", line), err, leave())
	}
	return leave, nil
}

// measureBeside measures beside what runs now.
func measureBeside(container []string) (row figure.Busy, err error) {
	if _, err := reconcile("/"); err != nil { // the containers are known by then
		return row, err
	}
	var looks, loops []float64
	cases := []stopwatch.Case{
		{Name: "look", Run: func() (int64, error) {
			used, err := measureLook()
			looks = append(looks, float64(used))
			return 0, err
		}},
		{Name: "loop", Run: func() (int64, error) {
			var used float64
			text, err := output("/e2e/loop")
			if err == nil {
				_, err = fmt.Sscan(text, &row.Processes, &row.Descriptors, &used)
			}
			loops = append(loops, used)
			return 0, err
		}},
	}
	for _, b := range builds() {
		argv := append([]string{b.dir + "metax-docker", "run", "--dry-run", "--inject=flags", "--gpus=4"}, container...)
		cases = append(cases, stopwatch.Process(b.prefix+"start", nil, argv...))
	}
	r, err := timed(busyRounds, cases...)
	if err != nil {
		return row, err
	}
	row.Start, row.StartCPU = r.Wall("start"), r.CPU("start")
	row.Look = figure.Summarise(figure.Nanoseconds, looks[1:]) // the first warms up
	row.Loop = figure.Summarise(figure.Nanoseconds, loops[1:])
	return row, nil
}

// measureLook looks at all processes, and returns the processor time of that.
func measureLook() (time.Duration, error) {
	root, err := hostfs.New("/")
	if err != nil {
		return 0, err
	}
	devices := holders.NewDevices(gpu.Node{GPUs: []gpu.GPU{{Nodes: []string{"/dev/zero"}}}}, root)
	begin, err := ownTime()
	if err != nil {
		return 0, err
	}
	for _, s := range procfs.New("/proc", -1).Sources(devices) {
		if name, _ := s.Name(); name != usage.Processes {
			continue
		}
		// In the containers of others there may be what even root may not look into.
		if _, err := s.Look(context.Background(), usage.Question{}); err != nil && !errors.Is(err, os.ErrPermission) {
			return 0, err
		}
	}
	end, err := ownTime()
	return end - begin, err
}

// ownTime is the processor time of this process.
func ownTime() (time.Duration, error) {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0, err
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano()), nil
}
