// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/metax-ctk/container-toolkit/test/bench/internal/figure"
	"github.com/metax-ctk/container-toolkit/test/bench/internal/stopwatch"
)

const containerRounds = 40

// containers measures the time of a complete container with four GPUs, from the command
// to its end: with metax-docker, and with docker alone and the options that
// metax-docker would pass.
func containers(container []string) (figure.Set, error) {
	var cases []stopwatch.Case
	ways := []string{"cdi", "flags"}
	for _, way := range ways {
		// Only flags have to be forced: the daemon is asked as it is without the option.
		options := map[string][]string{"flags": {"--inject=flags"}}[way]
		argv := append([]string{"metax-docker", "run", "--rm", "--network=none", "--gpus=4"}, options...)
		argv = append(argv, container...)
		alone, err := dryRun(argv)
		if err != nil {
			return nil, err
		}
		if byCDI := strings.Contains(strings.Join(alone, " "), "metax-tech.com/gpu="); byCDI != (way == "cdi") {
			return nil, fmt.Errorf("want GPUs by %s, got %q", way, alone)
		}
		cases = append(cases, stopwatch.Process(way+"/docker", nil, alone...), stopwatch.Process(way+"/wrapper", nil, argv...))
	}
	r, err := stopwatch.Time(containerRounds, cases...)
	if err != nil {
		return nil, err
	}
	set := figure.Set{}
	for _, way := range ways {
		set["engine/"+way+"/added"] = r.Added(way+"/wrapper", way+"/docker")
	}
	return set, nil
}

// dryRun returns the words of the command that a command line of metax-docker becomes.
func dryRun(argv []string) ([]string, error) {
	printed, err := output(argv[0], append([]string{argv[1], "--dry-run"}, argv[2:]...)...)
	if err != nil {
		return nil, err
	}
	// What is printed is made for a shell, so a shell takes it apart.
	words, err := output("sh", "-c", `printf '%s\0' `+strings.TrimSpace(printed))
	return strings.Split(strings.TrimSuffix(words, "\x00"), "\x00"), err
}

func output(name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Stderr = os.Stderr
	text, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("run %s %q: %w", name, args, err)
	}
	return string(text), nil
}
