// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// service is the API that the kubelet calls in one session.
type service struct {
	v1beta1.UnimplementedDevicePluginServer
	*Server
	followers *followers
}

func options() *v1beta1.DevicePluginOptions {
	return &v1beta1.DevicePluginOptions{PreStartRequired: true, GetPreferredAllocationAvailable: true}
}

func (s service) GetDevicePluginOptions(context.Context, *v1beta1.Empty) (*v1beta1.DevicePluginOptions, error) {
	return options(), nil
}

// ListAndWatch sends the list of devices now and whenever it changes.
func (s service) ListAndWatch(_ *v1beta1.Empty, stream v1beta1.DevicePlugin_ListAndWatchServer) error {
	s.followers.begin()
	defer s.followers.end()
	for {
		devices, changed := s.list()
		if err := stream.Send(&v1beta1.ListAndWatchResponse{Devices: devices}); err != nil {
			return err
		}
		select {
		case <-changed:
		case <-stream.Context().Done():
			return stream.Context().Err()
		case <-s.followers.stopped:
			return status.Error(codes.Unavailable, "the plugin registers again")
		}
	}
}

func (s service) GetPreferredAllocation(_ context.Context,
	r *v1beta1.PreferredAllocationRequest,
) (*v1beta1.PreferredAllocationResponse, error) {
	answer := new(v1beta1.PreferredAllocationResponse)
	for _, c := range r.ContainerRequests {
		ids := s.Backend.Preferred(c.AvailableDeviceIDs, c.MustIncludeDeviceIDs, int(c.AllocationSize))
		answer.ContainerResponses = append(answer.ContainerResponses,
			&v1beta1.ContainerPreferredAllocationResponse{DeviceIDs: ids})
	}
	return answer, nil
}

func (s service) Allocate(_ context.Context, r *v1beta1.AllocateRequest) (*v1beta1.AllocateResponse, error) {
	answer := new(v1beta1.AllocateResponse)
	for _, c := range r.ContainerRequests {
		container, err := s.Backend.Allocate(c.DevicesIds)
		if err != nil {
			s.Log.Error("a container gets no devices", "ids", c.DevicesIds, "reason", err)
			return nil, refused(err)
		}
		answer.ContainerResponses = append(answer.ContainerResponses, container)
	}
	return answer, nil
}

func (s service) PreStartContainer(_ context.Context,
	r *v1beta1.PreStartContainerRequest,
) (*v1beta1.PreStartContainerResponse, error) {
	if err := s.Backend.PreStart(r.DevicesIds); err != nil {
		s.Log.Error("a container must not start", "ids", r.DevicesIds, "reason", err)
		return nil, refused(err)
	}
	return &v1beta1.PreStartContainerResponse{}, nil
}

// refused is an error for the kubelet, which makes an Event of the pod of it.
func refused(err error) error {
	return status.Error(codes.FailedPrecondition, protocol.InCluster(err.Error()))
}

// followers counts the streams of a session. Somebody who debugs may have one besides the
// kubelet.
type followers struct {
	begun, ended, stopped chan struct{} // each is closed once

	mu sync.Mutex
	n  int
	// first, last and stopping close the channels.
	first, last, stopping sync.Once
}

func newFollowers() *followers {
	return &followers{begun: make(chan struct{}), ended: make(chan struct{}), stopped: make(chan struct{})}
}

func (f *followers) begin() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.n++
	f.first.Do(func() { close(f.begun) })
}

func (f *followers) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.n--; f.n == 0 {
		f.last.Do(func() { close(f.ended) })
	}
}

func (f *followers) stop() { f.stopping.Do(func() { close(f.stopped) }) }
