// SPDX-License-Identifier: Apache-2.0

package reader

import (
	"context"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/metax-ctk/container-toolkit/test/testfile"
)

func listen(socket string) (net.Listener, error) { return net.Listen("unix", socket) }

func TestIsGPUEvent(t *testing.T) {
	for message, want := range map[string]bool{
		"add@/devices/pci0000:0a/0000:0e:00.0|ACTION=add|SUBSYSTEM=pci|PCI_ID=9999:4001": true,
		"remove@/devices/pci0000:0a/0000:0e:00.0|SUBSYSTEM=pci":                          true,
		"add@/devices/pci0000:00/0000:00:1f.0|SUBSYSTEM=pci|PCI_ID=8086:1234":            false,
		"add@/devices/pci0000:0a/0000:0e:00.0/drm/card1|SUBSYSTEM=drm|DEVNAME=dri/card1": true,
		"add@/module/metax|SUBSYSTEM=module":                                             true,
		"add@/module/loop|SUBSYSTEM=module":                                              false,
		"add@/devices/virtual/mxcd/mxcd|SUBSYSTEM=mxcd|DEVNAME=mxcd":                     true,
		"change@/devices/virtual/block/loop0|SUBSYSTEM=block":                            false,
		"add@/devices/virtual/net/veth1|SUBSYSTEM=net|INTERFACE=veth1":                   false,
		"": false,
	} {
		if got := isGPUEvent([]byte(strings.ReplaceAll(message, "|", "\x00"))); got != want {
			t.Errorf("%s: %v", message, got)
		}
	}
}

func FuzzEvents(f *testing.F) {
	f.Add([]byte("add@/module/metax\x00SUBSYSTEM=module\x00"))
	f.Add(append(make([]byte, 12), 255, 255, 255, 255, 'c', 'a', 'r', 'd'))
	f.Add(append(make([]byte, 12), 4, 0, 0, 0, 'd', 'r', 'i', 0))
	f.Fuzz(func(_ *testing.T, message []byte) {
		isGPUEvent(message)
		isGPUNode(message)
	})
}

// TestEvents: a device node that appears is an event.
func TestEvents(t *testing.T) {
	dir := t.TempDir()
	events, err := Events(t.Context(), dir, filepath.Join(dir, "absent"))
	if err != nil {
		t.Fatal(err)
	}
	testfile.Write(t, filepath.Join(dir, "card1"), "", 0o600)
	<-events
}

func TestNotes(t *testing.T) {
	dir := t.TempDir()
	f, err := openNotes([]string{dir, dir + "/absent"})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	buffer := make([]byte, 4096)
	for _, test := range []struct {
		name string
		want bool
	}{{"tty9", false}, {"renderD128", true}, {"mxcd", true}, {"null", false}} {
		testfile.Write(t, filepath.Join(dir, test.name), "x", 0o600)
		n, err := f.Read(buffer)
		if err != nil || isGPUNode(buffer[:n]) != test.want {
			t.Errorf("%s: %v, %v", test.name, err, !test.want)
		}
	}
	if _, err := openNotes([]string{dir + "/absent"}); err == nil {
		t.Error("there is nothing to watch")
	}
	testfile.Symlink(t, dir, dir+"/link")
	if _, err := openNotes([]string{dir + "/link"}); err == nil {
		t.Error("a link was followed")
	}
}

// TestPoll: each change of the state is an event, and several that nobody has seen are one.
func TestPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		states, calls := []string{"a", "a", "b", "b", "a", "c", "c"}, 0
		events := make(chan struct{}, 1)
		done := make(chan struct{})
		go func() {
			defer close(done)
			Poll(ctx, time.Second, func() string { calls++; return states[min(calls, len(states))-1] }, events)
		}()
		for second, want := range []int{0, 0, 1, 0, 1} {
			synctest.Wait()
			if got := len(events); got != want {
				t.Errorf("after %ds: %d events, want %d", second, got, want)
			}
			for range len(events) {
				<-events
			}
			time.Sleep(time.Second)
		}
		time.Sleep(10 * time.Second)
		if len(events) != 1 {
			t.Errorf("%d events for two changes, want 1", len(events))
		}
		cancel()
		<-done
	})
}
