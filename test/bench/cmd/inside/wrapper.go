package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/metax-ctk/container-toolkit/test/bench/internal/figure"
	"github.com/metax-ctk/container-toolkit/test/bench/internal/stopwatch"
)

const (
	wrapperRounds = 200
	initRounds    = 51
	// noClient has metax-docker become a client that ends at once.
	noClient = "METAX_CTK_DOCKER=/e2e/nothing"
)

// wrapper is the time that metax-docker takes until it becomes the client, beside that of
// the client alone; and what the daemon takes of it.
func wrapper(container []string) (figure.Set, error) {
	forget, err := reconcile("/")
	if err != nil {
		return nil, err
	}
	forgetBelow, err := reconcile(nodeDir)
	if err != nil {
		return nil, err
	}
	restore, err := bareRunc()
	if err != nil {
		return nil, err
	}
	run := func(name string, options []string, env ...string) stopwatch.Case {
		argv := append([]string{"metax-docker", "run", "--rm", "--gpus=4"}, options...)
		return after(forget, stopwatch.Process(name, append(env, noClient), append(argv, container...)...))
	}
	r, err := stopwatch.Time(wrapperRounds,
		stopwatch.Process("client", nil, "/e2e/nothing"),
		stopwatch.Process("none", []string{noClient}, "metax-docker", "ps"),
		run("gpus", nil),
		run("gpus-flags", []string{"--inject=flags"}),
		after(forgetBelow, run("gpus-root", nil, "METAX_CTK_ROOT="+nodeDir)),
		stopwatch.Case{Name: "info", Run: info},
		stopwatch.Process("runc", nil, "runc", "--version"),
	)
	if err = errors.Join(err, restore(), forget(), forgetBelow()); err != nil {
		return nil, err
	}
	set := figure.Set{
		"wrapper/client": r.Wall("client"),
		"engine/info":    r.Wall("info"),
		"engine/runc":    r.Wall("runc"),
	}
	for _, name := range []string{"none", "gpus", "gpus-flags", "gpus-root"} {
		set["wrapper/"+name] = r.Added(name, "client")
	}
	return set, nil
}

// info asks the daemon what metax-docker asks it.
func info() (int64, error) {
	conn, err := net.Dial("unix", "/var/run/docker.sock")
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET /info HTTP/1.0\r\nHost: docker\r\n\r\n"); err != nil {
		return 0, err
	}
	answer, err := io.ReadAll(conn)
	if err == nil && !bytes.Contains(answer, []byte("metax-tech.com/gpu=")) {
		err = fmt.Errorf("the daemon does not list the GPUs:\n%s", answer)
	}
	return 0, err
}

// initialisation is what metax-docker's packages do before main, by the Go runtime's own word.
func initialisation([]string) (figure.Set, error) {
	var values []float64
	for range initRounds {
		cmd := exec.Command("metax-docker", "run", "--dry-run", "--gpus=4", "--inject=flags", "IMAGE")
		cmd.Env = append(os.Environ(), noClient, "GODEBUG=inittrace=1")
		text, err := cmd.CombinedOutput()
		if err != nil {
			return nil, fmt.Errorf("trace the start of metax-docker: %w\n%s", err, text)
		}
		sum, err := initTime(string(text))
		if err != nil {
			return nil, err
		}
		values = append(values, float64(sum))
	}
	return figure.Set{"wrapper/init": figure.Summarise(figure.Nanoseconds, values)}, nil
}

// initTime adds the times of a trace's lines, which are such as
// "init net @0.83 ms, 0.012 ms clock, 1248 bytes, 22 allocs".
func initTime(trace string) (time.Duration, error) {
	var sum time.Duration
	packages := 0
	for line := range strings.Lines(trace) {
		var name string
		var at, clock float64
		if n, _ := fmt.Sscanf(line, "init %s @%f ms, %f ms clock", &name, &at, &clock); n == 3 {
			packages++
			sum += time.Duration(clock * float64(time.Millisecond))
		}
	}
	if packages == 0 {
		return 0, fmt.Errorf("no package in the trace of initialisation:\n%s", trace)
	}
	return sum, nil
}
