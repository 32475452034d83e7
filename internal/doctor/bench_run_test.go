// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"github.com/metax-ctk/container-toolkit/internal/discover/mxsmi"
	"github.com/metax-ctk/container-toolkit/internal/sim"
	"github.com/metax-ctk/container-toolkit/test/standin"
)

// smi runs mx-smi.
func (b *bench) smi() mxsmi.Run {
	node := simulated(b.t, b.name)
	whole, err := sim.HostTree(node)
	b.must(err)
	sim.WithSMI(whole, node, standin.SMI(b.t))
	if b.simulated || b.tree[smiPath] != whole[smiPath] {
		return runs
	}
	return func(_ context.Context, path string, args ...string) ([]byte, error) {
		key := b.name + " " + strings.Join(args, " ")
		said, err := answered.get(key, func() ([]byte, error) {
			dir := filepath.Join(b.t.TempDir(), "whole")
			if err := whole.WriteInert(dir); err != nil {
				return nil, err
			}
			return runs(context.Background(), filepath.Join(dir, smiPath), args...)
		})
		return said, err
	}
}

const smiPath = "opt/mxdriver/bin/mx-smi"

// answered is what mx-smi says on whole hosts.
var answered outputs

type outputs struct {
	sync.Mutex
	said map[string][]byte
}

func (a *outputs) get(key string, ask func() ([]byte, error)) ([]byte, error) {
	a.Lock()
	defer a.Unlock()
	if said, ok := a.said[key]; ok {
		return said, nil
	}
	said, err := ask()
	if err == nil {
		if a.said == nil {
			a.said = map[string][]byte{}
		}
		a.said[key] = said
	}
	return said, err
}

// runs is a Config.Ask that runs the host's scripts.
func runs(ctx context.Context, path string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = []string{"LC_ALL=C", "PATH=/usr/bin:/bin"}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("run %s: %w: %s", path, err, stderr.String())
	}
	return out, nil
}
