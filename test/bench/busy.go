// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/holders"
	"github.com/metax-ctk/container-toolkit/internal/holders/procfs"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/usage"
	"github.com/metax-ctk/container-toolkit/test/bench/internal/figure"
)

//go:embed busy/*.c
var busySource embed.FS

// Busy is what a start costs beside other processes.
type Busy struct {
	// Processes and Descriptors are all that the machine then has.
	Processes   int `json:"processes"`
	Descriptors int `json:"descriptors"`
	// Start is the time of metax-docker run --dry-run, and StartCPU its processor time.
	// Before and BeforeCPU are those of a metax-docker to compare with; nil without one.
	Start     figure.Summary  `json:"start"`
	StartCPU  figure.Summary  `json:"startCPU"`
	Before    *figure.Summary `json:"before,omitempty"`
	BeforeCPU *figure.Summary `json:"beforeCPU,omitempty"`
	// Look is the processor time of one look at all processes, and Loop that of a program
	// in C which only lists the same descriptors and reads where each leads.
	Look figure.Summary `json:"look"`
	Loop figure.Summary `json:"loop"`
}

// crowds are the processes that are started, and how many descriptors each has.
var crowds = []struct{ processes, descriptors int }{{0, 0}, {500, 20}, {2000, 50}, {4000, 100}}

const busyRounds = 15

// measureBusy measures a start beside each of the crowds. before is the file of another
// metax-docker, empty for none.
func measureBusy(before string) ([]Busy, error) {
	dir, err := os.MkdirTemp("", "metax-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	for _, name := range []string{"crowd", "loop"} {
		code, err := busySource.ReadFile("busy/" + name + ".c")
		if err != nil {
			return nil, err
		}
		cmd := exec.Command("gcc", "-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-pthread",
			"-o", filepath.Join(dir, name), "-x", "c", "-")
		cmd.Stdin = strings.NewReader(string(code))
		if text, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("compile %s.c: %w\n%s", name, err, text)
		}
	}
	bin, err := filepath.Abs(filepath.Join(source, "bin"))
	if err != nil {
		return nil, err
	}
	node := filepath.Join(dir, "node")
	if _, err := output(exec.Command(filepath.Join(bin, "metax-ctk"), "sim", "create", "c500-8", node)); err != nil {
		return nil, fmt.Errorf("%w (make build)", err)
	}
	b := busyBench{dir: dir, node: node, programs: []string{filepath.Join(bin, "metax-docker")}}
	if before != "" {
		b.programs = append(b.programs, before)
	}
	var rows []Busy
	for _, c := range crowds {
		row, err := b.beside(c.processes, c.descriptors)
		if err != nil {
			return nil, fmt.Errorf("measure beside %d processes: %w", c.processes, err)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// busyBench is what the measurements beside all crowds share.
type busyBench struct {
	dir      string   // with crowd and loop
	node     string   // the tree of a simulated node
	programs []string // metax-docker, and the one to compare with
}

// beside measures beside a crowd.
func (b busyBench) beside(processes, descriptors int) (row Busy, err error) {
	leave, err := b.startCrowd(processes, descriptors)
	if err != nil {
		return row, err
	}
	defer func() { err = errors.Join(err, leave()) }()
	walls, used := make([][]float64, len(b.programs)), make([][]float64, len(b.programs))
	var looks, loops []float64
	for round := range busyRounds + 1 {
		for i, program := range b.programs {
			wall, cpu, err := b.dryRun(program)
			if err != nil {
				return row, err
			}
			if round > 0 { // the first warms up
				walls[i], used[i] = append(walls[i], wall), append(used[i], cpu)
			}
		}
		loop, err := b.loop(&row)
		if err != nil {
			return row, err
		}
		look, err := lookOnce()
		if err != nil {
			return row, err
		}
		if round > 0 {
			loops, looks = append(loops, loop), append(looks, look)
		}
	}
	summary := func(values []float64) figure.Summary { return figure.Summarise(figure.Nanoseconds, values) }
	row.Start, row.StartCPU, row.Look, row.Loop = summary(walls[0]), summary(used[0]), summary(looks), summary(loops)
	if len(b.programs) > 1 {
		wall, cpu := summary(walls[1]), summary(used[1])
		row.Before, row.BeforeCPU = &wall, &cpu
	}
	return row, nil
}

// startCrowd starts the processes; leave ends them.
func (b busyBench) startCrowd(processes, descriptors int) (leave func() error, err error) {
	cmd := exec.Command(filepath.Join(b.dir, "crowd"), fmt.Sprint(processes), fmt.Sprint(descriptors))
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

// dryRun returns the time and the processor time of a start, in nanoseconds.
func (b busyBench) dryRun(program string) (wall, cpu float64, err error) {
	cmd := exec.Command(program, "run", "--dry-run", "--inject=flags", "--gpus=4", "image")
	cmd.Env = append(os.Environ(), "METAX_CTK_ROOT="+b.node, "METAX_CTK_DOCKER=/bin/true")
	cmd.Stderr = io.Discard
	begin := time.Now()
	if err := cmd.Run(); err != nil {
		return 0, 0, fmt.Errorf("run %s: %w", program, err)
	}
	return float64(time.Since(begin)), float64(cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()), nil
}

// loop returns the processor time of the loop in C, in nanoseconds, and counts what there is.
func (b busyBench) loop(row *Busy) (cpu float64, err error) {
	text, err := exec.Command(filepath.Join(b.dir, "loop")).Output()
	if err == nil {
		_, err = fmt.Sscan(string(text), &row.Processes, &row.Descriptors, &cpu)
	}
	if err != nil {
		return 0, fmt.Errorf("run the loop in C: %w", err)
	}
	return cpu, nil
}

// lookOnce returns the processor time of a look at all processes, in nanoseconds.
func lookOnce() (float64, error) {
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
	return float64(end - begin), err
}

// ownTime is the processor time of this process.
func ownTime() (time.Duration, error) {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0, err
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano()), nil
}

// busyTable is the table of a terminal.
func busyTable(rows []Busy) string {
	var text strings.Builder
	fmt.Fprintln(&text, line("processes", "descriptors", "start", "processor time", "one look", "loop in C", "factor",
		"before"))
	for _, r := range rows {
		before := "–"
		if r.Before != nil {
			before = short(*r.Before) + " / " + short(*r.BeforeCPU)
		}
		fmt.Fprintln(&text, line(busyCells(r)+" | "+before))
	}
	return text.String()
}

// busyLine is a line of a page's table.
func busyLine(r Busy) string { return line(busyCells(r)) }

func busyCells(r Busy) string {
	return strings.Join([]string{
		fmt.Sprint(r.Processes), fmt.Sprint(r.Descriptors), short(r.Start), short(r.StartCPU), short(r.Look),
		short(r.Loop), fmt.Sprintf("%.2f", r.Look.Median/r.Loop.Median),
	}, " | ")
}

// short is the median.
func short(s figure.Summary) string { return s.Unit.String(s.Median) }
