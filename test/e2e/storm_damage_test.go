// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"math/rand/v2"
	"os"
	"strings"
	"time"
)

// killContainers kills one that runs every now and then.
func (r *round) killContainers(ctx context.Context, random *rand.Rand) {
	for wait(ctx, time.Duration(random.IntN(800))*time.Millisecond) {
		said, err := r.try(ctx, nil, "docker", "ps", "--quiet")
		if err != nil || said.code != 0 {
			continue
		}
		if ids := strings.Fields(said.stdout); len(ids) > 0 {
			if said, err := r.try(ctx, nil, "docker", "kill", ids[random.IntN(len(ids))]); err == nil && said.code == 0 {
				r.count("containers killed")
			}
		}
	}
}

// cleanUp removes the containers that a killed client has made and will never start, as
// its user would: they hold their GPUs.
func (r *round) cleanUp(ctx context.Context) {
	for wait(ctx, 500*time.Millisecond) {
		said, err := r.try(ctx, nil, "docker", "ps", "--all", "--filter", "status=created", "--format", "{{.Names}}")
		if err != nil || said.code != 0 {
			continue
		}
		for _, name := range strings.Fields(said.stdout) {
			r.mu.Lock()
			gone := r.gone[name]
			r.mu.Unlock()
			if !gone {
				continue
			}
			if said, err := r.try(ctx, nil, "docker", "rm", "--force", name); err == nil && said.code == 0 {
				r.count("containers never started")
			}
		}
	}
}

// spoil damages the state file in ways that no writer of the toolkit would.
func (r *round) spoil(ctx context.Context, random *rand.Rand) {
	path := r.Path(r.root + stateFile)
	for wait(ctx, 500*time.Millisecond+time.Duration(random.IntN(2000))*time.Millisecond) {
		if random.IntN(2) == 0 {
			if err := os.Remove(path); err == nil {
				r.count("state files removed")
			}
			continue
		}
		if f, err := os.OpenFile(path, os.O_RDWR, 0); err == nil {
			if _, err := f.WriteAt([]byte(garbage), 0); err == nil {
				r.count("state files damaged")
			}
			if random.IntN(2) == 0 {
				f.Truncate(int64(len(garbage) + random.IntN(400))) // what tells it stays
			}
			f.Close()
		}
	}
}
