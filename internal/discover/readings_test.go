// SPDX-License-Identifier: Apache-2.0

package discover_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/discover"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/test/simtest"
)

// TestReadings asks libmxsml first, and mx-smi where that gives no answer.
func TestReadings(t *testing.T) {
	library := ask(t)
	usage := func(_ context.Context, _ string, args ...string) ([]byte, error) {
		if args[0] != "--show-usage" {
			return nil, errors.New("not today")
		}
		return []byte("GPU#0 MXC500 0000:0e:00.0\n GPU : 7 %\n"), nil
	}
	root, _ := withLibrary(t, hostTree(t, "c500-8"), simtest.Node(t, "c500-8"))
	host := discover.Host{Root: root, Library: library, Run: noTool(t), Timeout: time.Minute}
	readings, source, err := host.Readings(t.Context(), gpu.Node{})
	if err != nil || source != "libmxsml" || len(readings) != 8 || *readings[0].PowerW != 72 {
		t.Errorf("by libmxsml: %s %+v, %v", source, readings, err)
	}

	root, _ = withLibrary(t, hostTree(t, "c500-8"), simtest.Node(t, "c500-8"), "crash mxSmlGetTemperatureInfo 0")
	host = discover.Host{Root: root, Library: library, Run: usage, Timeout: time.Minute}
	readings, source, err = host.Readings(t.Context(), gpu.Node{})
	if err != nil || source != "mx-smi" || len(readings) != 1 || *readings[0].UtilizationPercent != 7 || readings[0].TemperatureC != nil {
		t.Errorf("by mx-smi: %s %+v, %v", source, readings, err)
	}
	host.Run = nil
	if _, _, err = host.Readings(t.Context(), gpu.Node{}); err == nil || !strings.Contains(err.Error(), "it crashed") {
		t.Errorf("without mx-smi: %v", err)
	}

	n := simtest.Node(t, "c500-8")
	readings, source, err = host.Readings(t.Context(), n)
	if err != nil || source != discover.FromDriver || len(readings) != 8 || *readings[0].PowerW != 57 {
		t.Errorf("by the driver's files: %s %+v, %v", source, readings, err)
	}
	// What the library has is not read again; what it has not is added.
	root, _ = withLibrary(t, hostTree(t, "c500-8"), n, "code mxSmlGetClocks 3")
	readings, source, err = discover.Host{Root: root, Library: library, Timeout: time.Minute}.Readings(t.Context(), n)
	if err != nil || source != "libmxsml" || len(readings) != 8 || *readings[0].PowerW != 72 || readings[0].Measures[gpu.ClockMHz] != 1500 {
		t.Errorf("by both: %s %+v, %v", source, readings, err)
	}

	empty, err := hostfs.New(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	host.Root = empty
	if _, _, err = host.Readings(t.Context(), gpu.Node{}); !errors.Is(err, discover.ErrNoReadings) {
		t.Errorf("without both: %v", err)
	}
}
