package containerd

import (
	"strconv"

	"github.com/containerd/containerd/api/types/task"
	containerd "github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/core/runtime/restart"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// life returns the state of a container by its first process, nil if it has
// none, and the process's pid while there is one.
func life(process *task.Process) (usage.ContainerState, int) {
	if process == nil {
		return usage.Exited, 0
	}
	pid := int(process.GetPid())
	switch process.GetStatus() {
	case task.Status_STOPPED:
		return usage.Exited, 0
	case task.Status_CREATED:
		return usage.Created, pid
	case task.Status_PAUSED, task.Status_PAUSING:
		return usage.Paused, pid
	}
	return usage.Running, pid
}

// keeps reports whether containerd will start the container again once it has
// ended so, by the same rules as its restart monitor, which nerdctl uses.
func keeps(labels map[string]string, exit uint32) bool {
	if labels[restart.StatusLabel] != string(containerd.Running) {
		return false
	}
	policy, err := restart.NewPolicy(labels[restart.PolicyLabel])
	if err != nil {
		return false
	}
	switch policy.Name() {
	case "always":
		return true
	case "unless-stopped":
		stopped, err := strconv.ParseBool(labels[restart.ExplicitlyStoppedLabel])
		return err != nil || !stopped
	case "on-failure":
		count, err := strconv.Atoi(labels[restart.CountLabel])
		if err != nil && labels[restart.CountLabel] != "" {
			return false
		}
		limit := policy.MaximumRetryCount()
		return exit != 0 && (limit == 0 || count < limit)
	}
	return false
}
