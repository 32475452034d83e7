// SPDX-License-Identifier: Apache-2.0

package sgpu

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/discover/mxsml"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/sim"
	"github.com/metax-ctk/container-toolkit/test/simtest"
)

// TestOneCreator: a slice is made while nothing else of the toolkit changes slices of the
// host, also by a process that uses the other way.
func TestOneCreator(t *testing.T) {
	host := simtest.Write(t, sim.Tree{"opt/mxdriver/lib/libmxsml.so": sim.File{}, "opt/mxdriver/bin/mx-smi": sim.File{}})
	var state sync.Mutex
	running := 0
	tool := func(context.Context, string, ...string) ([]byte, error) {
		state.Lock()
		running++
		if running > 1 {
			t.Error("two programs change slices at once")
		}
		state.Unlock()
		time.Sleep(time.Millisecond)
		state.Lock()
		running--
		state.Unlock()
		return nil, errors.New("refused")
	}
	var all sync.WaitGroup
	for _, library := range []mxsml.Run{nil, nil, func(ctx context.Context, args ...string) ([]byte, error) { return tool(ctx, "") }, nil} {
		changer, err := New(host, library, tool)
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			for range 5 {
				if err := changer.Enable(t.Context(), gpu.BDF{Bus: 1}); err == nil {
					t.Error("it succeeds")
				}
			}
		})
	}
	all.Wait()
	changer, _ := New(host, nil, tool)
	err := changer.locked(t.Context(), func() error {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		return changer.Enable(ctx, gpu.BDF{Bus: 1})
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("while another changes slices: %v", err)
	}
}
