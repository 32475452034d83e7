// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/proto"
	"k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

// Backend answers what the kubelet asks for one container.
type Backend interface {
	// Preferred returns which n of the available devices the container should get, those of
	// required among them. The kubelet fills an answer that is too short.
	Preferred(available, required []string, n int) []string
	// Allocate returns what the container gets for the devices.
	Allocate(ids []string) (*v1beta1.ContainerAllocateResponse, error)
	// PreStart checks the devices just before the container starts.
	PreStart(ids []string) error
}

// The pauses between two sessions: the first, and the longest if registration fails again and
// again. Until the next session the kubelet gives nobody a device.
const (
	firstPause = 10 * time.Millisecond
	lastPause  = 10 * time.Second
)

// Server keeps one resource registered.
type Server struct {
	// Dir is the kubelet's directory of device plugins.
	Dir string
	// Resource is the name of the resource, "metax-tech.com/gpu".
	Resource string
	Backend  Backend
	Log      *slog.Logger
	// Known returns the ids of the healthy devices of the resource by the kubelet; nil if it
	// cannot be asked.
	Known func(context.Context) ([]string, error)

	registered atomic.Bool
	mu         sync.Mutex
	devices    []*v1beta1.Device
	changed    chan struct{} // is closed when devices change
}

// Registered reports whether the kubelet follows the list of devices now.
func (s *Server) Registered() bool { return s.registered.Load() }

// SetDevices replaces the list of devices. The kubelet is told if it differs.
func (s *Server) SetDevices(devices []*v1beta1.Device) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if equal(s.devices, devices) {
		return
	}
	s.devices = devices
	if s.changed != nil {
		close(s.changed)
	}
	s.changed = make(chan struct{})
}

// list returns the devices, and a channel that is closed when they change.
func (s *Server) list() ([]*v1beta1.Device, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.changed == nil {
		s.changed = make(chan struct{})
	}
	return s.devices, s.changed
}

func equal(a, b []*v1beta1.Device) bool {
	return proto.Equal(&v1beta1.ListAndWatchResponse{Devices: a}, &v1beta1.ListAndWatchResponse{Devices: b})
}

// Run keeps the resource registered until ctx ends. It has no other way to fail than to try
// again: the kubelet may be started later.
func (s *Server) Run(ctx context.Context) {
	pause := firstPause
	for ctx.Err() == nil {
		err := s.session(ctx)
		if s.registered.Swap(false) {
			pause = firstPause
		}
		if ctx.Err() != nil {
			return
		}
		level := slog.LevelWarn
		if errors.Is(err, errKubeletStarted) {
			level = slog.LevelInfo
		}
		s.Log.Log(ctx, level, "the resource is not registered; trying again", "resource", s.Resource, "reason", err, "pause",
			pause.String())
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
		pause = min(2*pause, lastPause)
	}
}

// kubeletSocket is the path of the kubelet's own socket.
func (s *Server) kubeletSocket() string {
	return filepath.Join(s.Dir, filepath.Base(v1beta1.KubeletSocket))
}
