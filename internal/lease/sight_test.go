// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"context"
	"errors"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// eye is a source as an actor looks through it: it stops before it looks and before it
// answers.
type eye struct {
	*actor
	engine, endpoint string
	look             func(ctx context.Context, q usage.Question) (usage.Sight, error)
}

func (e eye) Name() (engine, endpoint string) { return e.engine, e.endpoint }

func (e eye) Look(ctx context.Context, q usage.Question) (usage.Sight, error) {
	if !e.stand("look "+e.engine, nil) {
		return usage.Sight{}, errKilled
	}
	s, err := e.look(ctx, q)
	if !e.stand("saw "+e.engine, nil) {
		return usage.Sight{}, errKilled
	}
	return s, err
}

var (
	errKilled  = errors.New("killed")
	errRefused = errors.New("connection refused")
)

func (a *actor) sources(State) []Source {
	a.stopUptime = true
	w := a.w
	list := []Source{
		eye{a, "podman", "", func(context.Context, usage.Question) (usage.Sight, error) { return usage.Sight{}, usage.ErrAbsent }},
		eye{a, "docker", sock, func(ctx context.Context, q usage.Question) (usage.Sight, error) {
			if err := a.answer(ctx, w.docker.up, w.docker.hung); err != nil {
				return usage.Sight{}, err
			}
			return usage.Sight{Containers: w.docker.containers(), Over: w.docker.over(q.Ended)}, nil
		}},
		eye{a, "containerd", "/run/containerd.sock", func(ctx context.Context, _ usage.Question) (usage.Sight, error) {
			if err := a.answer(ctx, !w.containerdDown, w.containerdHung); err != nil {
				return usage.Sight{}, err
			}
			return usage.Sight{Containers: w.docker.tasks()}, nil
		}},
		eye{a, usage.Processes, "", func(_ context.Context, q usage.Question) (usage.Sight, error) {
			var s usage.Sight
			if s.Partial = !a.root; a.root {
				s.Processes = w.users()
				s.Lists = listsOf(s.Processes, q.Lists)
			}
			if s.Lists.Instead {
				s.Processes, s.Partial = nil, true
			}
			if q.Lost {
				s.Claimants = w.clients()
			}
			return s, nil
		}},
	}
	if a.n%2 == 1 {
		slices.Reverse(list)
	}
	return list
}

// answer waits for an engine that hangs until it gives up.
func (a *actor) answer(ctx context.Context, up, hung bool) error {
	switch {
	case !up:
		return errRefused
	case hung:
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-a.dead:
			return errKilled
		}
	}
	return nil
}

// listsOf is what the kernel's lists say of GPUs that only these processes have open, once
// looks have confirmed all of them. The question names lists.
func listsOf(users []usage.Process, named []usage.OpenList) (out usage.OpenLists) {
	for _, p := range users {
		out.InUse = usage.Sorted(slices.Concat(out.InUse, p.GPUs))
	}
	out.Instead = len(named) == len(allGPUs)
	if out.Instead {
		return out
	}
	for _, g := range allGPUs {
		out.Confirmed = append(out.Confirmed, usage.OpenList{GPU: g, ID: 1})
	}
	return out
}
