// SPDX-License-Identifier: Apache-2.0

// Package users says who uses the GPUs of a node, in words such as "pod team/job" and "process
// 17 (python)". Whether that keeps an agent from its work is up to the agent.
package users

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/holders"
	"github.com/metax-ctk/container-toolkit/internal/holders/podresources"
	"github.com/metax-ctk/container-toolkit/internal/holders/procfs"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// Patience bounds one search for users.
const Patience = 20 * time.Second

// Pods returns the pods with a device of the kubelet for which counts reports true, sorted,
// each once.
func Pods(containers []podresources.Container, counts func(resource, id string) bool) (list []string) {
	for _, c := range containers {
		for resource, ids := range c.Devices {
			if slices.ContainsFunc(ids, func(id string) bool { return counts(resource, id) }) {
				list = append(list, "pod "+c.Namespace+"/"+c.Pod)
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// Processes returns the processes of the host that have one of the devices open. Beside an
// error, which is for instance that a process cannot be inspected, it returns those that were
// found.
func Processes(ctx context.Context, proc *procfs.Proc, devices holders.Devices) (list []string, failed error) {
	for _, source := range proc.Sources(devices) {
		if name, _ := source.Name(); name != usage.Processes {
			continue
		}
		sight, err := source.Look(ctx, usage.Question{})
		if err != nil {
			failed = err
		}
		for _, p := range sight.Processes {
			list = append(list, fmt.Sprintf("process %d (%s)", p.PID, p.Command))
		}
	}
	return list, failed
}
