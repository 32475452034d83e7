// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"

	"github.com/metax-ctk/container-toolkit/test/bench/internal/figure"
	"github.com/metax-ctk/container-toolkit/test/bench/internal/stopwatch"
)

const leaseRounds = 200

// leases measures the cost of a start under a lease, on a node where nothing runs and
// on one with many neighbours.
func leases(container []string) (figure.Set, error) {
	set := figure.Set{}
	alone, err := start(container, "0")
	if err != nil {
		return nil, err
	}
	leave, err := startNeighbours(container[0])
	if err != nil {
		return nil, err
	}
	among, err := start(container, "100")
	if err != nil {
		return nil, err
	}
	held, err := lock(container)
	if err != nil {
		return nil, err
	}
	waiting, err := wait(container)
	if err != nil {
		return nil, err
	}
	first, err := firstStart(container)
	if err = errors.Join(err, leave(), reboot()); err != nil {
		return nil, err
	}
	return set, errors.Join(set.Add(alone), set.Add(among), set.Add(held), set.Add(waiting), set.Add(first))
}

// take is a start that takes a lease and becomes a client that ends at once.
func take(container []string, options ...string) []string {
	argv := append([]string{"metax-docker", "run", "--rm", "--network=none", "--gpus=2"}, options...)
	return append(argv, container...)
}

// start is the time of a start until it becomes the client, by the number of neighbours.
func start(container []string, neighbours string) (figure.Set, error) {
	restore, err := reconcile("/")
	if err != nil {
		return nil, err
	}
	r, err := stopwatch.Time(leaseRounds,
		stopwatch.Process("client", nil, "/e2e/nothing"),
		after(restore, stopwatch.Process("run", []string{noClient}, take(container)...)),
	)
	if err = errors.Join(err, restore()); err != nil {
		return nil, err
	}
	return figure.Set{"leases/run/" + neighbours: r.Added("run", "client")}, nil
}

const firstRounds = 20

// firstStart is the time of the first start after a boot, when nothing is known of the
// neighbours.
func firstStart(container []string) (figure.Set, error) {
	r, err := stopwatch.Time(firstRounds,
		stopwatch.Process("client", nil, "/e2e/nothing"),
		after(reboot, stopwatch.Process("run", []string{noClient}, take(container)...)),
	)
	if err != nil {
		return nil, err
	}
	return figure.Set{"leases/first/100": r.Added("run", "client")}, nil
}
