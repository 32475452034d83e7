// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"github.com/metax-ctk/container-toolkit/internal/wording"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/allocate"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/allocations"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/inventory"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol/foreign"
)

// wholeGPUs gives what is there without being made first: GPUs, their virtual functions and
// shares of them.
type wholeGPUs struct {
	state   *NodeState
	metrics *Metrics
}

// errSlices says that devices are slices in ModeSGPU, and given by Slices.
var errSlices = errors.New("the devices are slices")

// prefer returns which n of the available devices a container should get.
func (w wholeGPUs) prefer(s *allocate.Snapshot, available, required []string, n int) []string {
	p := s.Prefer(available, required, n, w.state.PodPolicies)
	w.metrics.guessed(p.Guessed)
	if p.Fallback != "" {
		w.metrics.fallback()
		w.state.Log.Warn("GPUs are preferred by their order", "reason", p.Fallback, "preferred", p.IDs)
	} else {
		w.state.Log.Debug("preferred", "ids", p.IDs, "of", len(available))
	}
	return p.IDs
}

// give gives devices to a container. All of it is one change of the state.
func (w wholeGPUs) give(ids []string) (*v1beta1.ContainerAllocateResponse, error) {
	var answer allocate.Answer
	var e allocations.Entry
	var err error
	w.state.change(func(v *nodeView) {
		if answer, e, err = w.decide(v, ids); err == nil {
			v.record = v.record.Add(e)
		}
	})
	if errors.Is(err, errNoNode) || errors.Is(err, errSlices) {
		return nil, err
	}
	w.metrics.allocated(err)
	if err != nil {
		return nil, err
	}
	container := cmp.Or(e.For, &allocations.Container{Pod: "not known"})
	w.state.Log.Info("allocated", "ids", ids, "pod", container.Pod)
	w.state.askKubelet()
	w.state.report()
	return response(answer), nil
}

// decide returns what a container gets for the devices, and the Entry that says so.
func (w wholeGPUs) decide(v *nodeView, ids []string) (allocate.Answer, allocations.Entry, error) {
	e := allocations.Entry{IDs: ids, At: time.Now()}
	if v.snapshot == nil {
		return allocate.Answer{}, e, errNoNode
	}
	if v.mode.Mode == protocol.ModeSGPU && slices.ContainsFunc(ids, isSlice) {
		return allocate.Answer{}, e, errSlices
	}
	request, guessed := v.snapshot.Waiting.Guess(len(ids))
	if guessed {
		e.For = &request.Container
	}
	answer, err := v.snapshot.Allocate(ids, w.state.form(v, v.cdi, request.Choice.MACA, w.state.Log))
	mode := v.mode.Mode
	if err == nil && mode != "" && slices.ContainsFunc(ids, func(id string) bool { return !inventory.Serves(mode, id) }) {
		err = fmt.Errorf("%s cannot be given: the mode of this node is %s now", ids[0], mode)
	}
	if err == nil && w.state.Kunlunxin {
		answer.Env[foreign.KunlunxinDevices] = wording.List(v.snapshot.Indices(ids))
	}
	return answer, e, err
}
