// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
)

const (
	// neighbourCount is how many containers run on a busy node.
	neighbourCount = 100
	// neighbourGPUs is how many of them have GPUs, two each; two of the node's eight are free.
	neighbourGPUs = 3
)

// startNeighbours starts the neighbours from an image whose own command stays, and
// returns what removes them.
func startNeighbours(image string) (leave func() error, err error) {
	ids := make([]string, neighbourCount)
	leave = func() error {
		_, err := output("docker", append([]string{"rm", "--force"}, ids...)...)
		return err
	}
	var next atomic.Int64
	var starters sync.WaitGroup
	failed := make(chan error, neighbourCount)
	for range 4 {
		starters.Go(func() {
			for i := int(next.Add(1)) - 1; i < neighbourCount; i = int(next.Add(1)) - 1 {
				argv := []string{"docker", "run", "--detach", "--network=none", fmt.Sprintf("--name=neighbour-%d", i), image}
				if i < neighbourGPUs {
					argv = append([]string{"metax-docker", "run", "--gpus=2"}, argv[2:]...)
				}
				id, err := output(argv[0], argv[1:]...)
				if err != nil {
					failed <- err
					return
				}
				ids[i] = strings.TrimSpace(id)
			}
		})
	}
	starters.Wait()
	select {
	case err := <-failed:
		return nil, err
	default:
		return leave, nil
	}
}

// reboot takes away all that the toolkit knows of a node's leases, as a reboot does.
func reboot() error { return os.RemoveAll(leasesDir) }
