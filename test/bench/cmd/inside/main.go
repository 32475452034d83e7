// SPDX-License-Identifier: Apache-2.0

// Command inside measures what needs a container engine and a node. It runs on the machine
// that test/e2e makes, with a simulated node at /node:
//
//	inside place                    put that node in the place of the machine's own, and make
//	                                another one
//	inside measure IMAGE COMMAND…   print the figures as JSON; COMMAND ends at once
//	inside starts IMAGE COMMAND…    print the figures of starts alone
//	inside busy IMAGE COMMAND…      print those of starts beside many processes
//	inside peak COMMAND…            print the command's peak memory, in bytes
//
// Between the two, dockerd has to be started and the image loaded.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/metax-ctk/container-toolkit/test/bench/internal/figure"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "inside:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 1 && args[0] == "place":
		return errors.Join(place(), grow())
	case len(args) > 2 && args[0] == "measure":
		return measure(args[1:], busy, memory, runtimes, wrapper, containers, maca, leases, rush, toolkit)
	case len(args) > 2 && args[0] == "starts":
		return measure(args[1:], nil, wrapper, toolkit, runtimes)
	case len(args) > 2 && args[0] == "busy":
		return measure(args[1:], busy)
	case len(args) > 1 && args[0] == "peak":
		return takePeak(args[1:])
	}
	return errors.New("want: place, or: measure IMAGE COMMAND…, or: starts IMAGE COMMAND…, or: busy IMAGE COMMAND…")
}

func measure(container []string, crowds func([]string) ([]figure.Busy, error),
	parts ...func([]string) (figure.Set, error),
) error {
	version, err := output("docker", "version", "--format", "{{.Server.Version}}")
	if err != nil {
		return err
	}
	engine := figure.Engine{Docker: strings.TrimSpace(version), Shim: hasShim(), Figures: figure.Set{}}
	for _, part := range parts {
		set, err := part(container)
		if err == nil {
			err = engine.Figures.Add(set)
		}
		if err != nil {
			return err
		}
	}
	if crowds != nil {
		if engine.Busy, err = crowds(container); err != nil {
			return err
		}
	}
	return json.NewEncoder(os.Stdout).Encode(engine)
}
