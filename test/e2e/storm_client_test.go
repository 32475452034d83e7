// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/metax-ctk/container-toolkit/test/report"
	"github.com/metax-ctk/container-toolkit/test/sandbox"
)

// stormClient is one that requests two GPUs, by one command or several.
type stormClient struct {
	*round
	name  string
	steps [][]string // arguments of metax-docker
	// impatient clients do not wait for GPUs.
	impatient bool
	// victim is the number of the step that is killed, -1 for none: so long after it has
	// begun, or after it has its lease.
	victim int
	after  time.Duration
	leased bool
}

// client makes up the next one.
func (r *round) client(i int) stormClient {
	c := stormClient{round: r, name: fmt.Sprintf("storm-%d", i), victim: -1}
	held := time.Duration(r.random.IntN(150)) * time.Millisecond
	if r.random.IntN(8) == 0 {
		held = 1500 * time.Millisecond
	}
	options := []string{"--gpus=2", "--name=" + c.name, "--volume=" + r.inbox.dir + ":" + report.Dir}
	kind := r.random.IntN(100)
	if c.impatient = kind < 20; !c.impatient {
		options = append(options, "--gpus-wait=10m")
	}
	args := func(verb string, more ...string) []string {
		all := r.runArgs(append(options, more...), "hold", c.name, held.String())
		all[0] = verb
		return all
	}
	switch {
	case kind < 70:
		c.steps = [][]string{args("run", "--rm")}
	case kind < 85:
		c.steps = [][]string{args("run", "--rm", "--detach")}
	default:
		c.steps = [][]string{args("create"), {"start", "--attach", c.name}, {"rm", "--force", c.name}}
	}
	if r.kills && r.random.IntN(100) < 40 {
		c.victim = r.random.IntN(len(c.steps))
		c.leased = r.random.IntN(3) > 0
		c.after = time.Duration(r.random.Int64N(int64(lifetime(r.random, c.leased))))
	}
	return c
}

// lifetime bounds the time until a client is killed. The steps between a lease and a
// running container take a quarter of a second on a machine that has nothing else to do;
// half of the kills go there.
func lifetime(random *rand.Rand, leased bool) time.Duration {
	switch {
	case !leased:
		return 3 * time.Second
	case random.IntN(2) == 0:
		return 100 * time.Millisecond
	}
	return time.Second
}

// live takes one step after the other, until one fails.
func (c stormClient) live(ctx context.Context) {
	for i, args := range c.steps {
		code, stderr, killed := c.step(ctx, i, args)
		switch {
		case killed:
			c.count("clients killed")
		case ctx.Err() != nil:
			c.fail("%s does not end: %s", c.name, stderr)
		case code == 0:
			c.count("clients served")
			continue
		case c.impatient && code == 125 && strings.Contains(stderr, "(metax-ctk ps)"):
			c.count("clients refused")
		case code == 137 && c.kills:
			c.count("clients whose container was killed")
		case c.crash:
			c.count("clients that lost the daemon")
		default:
			c.fail("%s: metax-docker %s: exit code %d: %s", c.name, args[0], code, stderr)
		}
		return
	}
}

// step runs one command and may kill it.
func (c stormClient) step(ctx context.Context, i int, args []string) (code int, stderr string, killed bool) {
	cmd := c.Command(ctx, c.env(), "metax-docker", args...)
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		return -1, err.Error(), false
	}
	ended := make(chan struct{})
	shot := make(chan bool, 1)
	go func() {
		outside, inside, err := pids(ctx, cmd)
		if err != nil {
			shot <- false // it was faster
			return
		}
		c.witness.knows(inside, c.name)
		shot <- i == c.victim && c.kill(ctx, ended, outside, inside)
	}()
	cmd.Wait() // the exit code tells
	close(ended)
	c.mu.Lock()
	c.spent += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	c.mu.Unlock()
	return cmd.ProcessState.ExitCode(), said.String(), <-shot
}

// kill kills a step when its time has come, and reports whether it was in time.
func (c stormClient) kill(ctx context.Context, ended <-chan struct{}, outside, inside int) bool {
	process, err := os.FindProcess(outside) // a handle: the number may be another's soon
	if err != nil {
		return false
	}
	defer process.Release()
	for c.leased && !c.witness.leased(inside) {
		select {
		case <-ended:
			return false
		case <-ctx.Done():
			return false
		case <-time.After(time.Millisecond):
		}
	}
	select {
	case <-ended:
		return false
	case <-time.After(c.after):
	}
	return process.Kill() == nil
}

// pids are the numbers that the process behind a command has on the machine and in its own
// namespace.
func pids(ctx context.Context, cmd *exec.Cmd) (outside, inside int, err error) {
	if outside, err = sandbox.Inner(ctx, cmd); err != nil {
		return 0, 0, err
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", outside))
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(text)) {
		if list, ok := strings.CutPrefix(line, "NSpid:"); ok {
			fields := strings.Fields(list)
			inside, err = strconv.Atoi(fields[len(fields)-1])
			return outside, inside, err
		}
	}
	return 0, 0, fmt.Errorf("process %d tells no NSpid", outside)
}
