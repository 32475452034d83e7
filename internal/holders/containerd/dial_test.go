// SPDX-License-Identifier: Apache-2.0

package containerd_test

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/holders"
	"github.com/metax-ctk/container-toolkit/internal/holders/containerd"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// listen makes a socket on which answer talks to each that connects.
func listen(t *testing.T, answer func(net.Conn)) string {
	t.Helper()
	address := filepath.Join(t.TempDir(), "c.sock")
	listener, err := net.Listen("unix", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { conn.Close() })
			go answer(conn)
		}
	}()
	return address
}

// unheard makes a socket that its listener left behind.
func unheard(t *testing.T) string {
	t.Helper()
	address := filepath.Join(t.TempDir(), "c.sock")
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: address, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	listener.SetUnlinkOnClose(false)
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	return address
}

func TestLookNobody(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	never := func(net.Conn) {}
	for _, test := range []struct {
		name, address string
		timeout       time.Duration
		want          error // nil for any
		says          string
	}{
		{"absent", filepath.Join(t.TempDir(), "absent"), time.Minute, usage.ErrAbsent, "absent is not on this machine"},
		{"below a file", file + "/c.sock", time.Minute, usage.ErrAbsent, "not on this machine"},
		{"a file", file, time.Minute, syscall.ECONNREFUSED, "no process listens on " + file},
		{"left behind", unheard(t), time.Minute, syscall.ECONNREFUSED, "no process listens on "},
		{"too long a path", "/" + strings.Repeat("c", 200), time.Minute, nil, "connect to "},
		{"hangs up", listen(t, func(c net.Conn) { c.Close() }), time.Minute, nil, "list namespaces"},
		{"speaks otherwise", listen(t, func(c net.Conn) { c.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n")); c.Close() }), time.Minute, nil, "list namespaces"},
		{"never answers", listen(t, never), 50 * time.Millisecond, context.DeadlineExceeded, "list namespaces"},
		{"no time", listen(t, never), 0, context.DeadlineExceeded, "connect to containerd"},
	} {
		t.Run(test.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), test.timeout)
			defer cancel()
			sight, err := containerd.New(test.address, holders.Devices{}).Look(ctx, usage.Question{})
			if err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("the error is %v; want it to say %q", err, test.says)
			}
			if test.want != nil && !errors.Is(err, test.want) {
				t.Errorf("the error is %v, want %v", err, test.want)
			}
			if absent := errors.Is(err, usage.ErrAbsent); absent != (test.want == usage.ErrAbsent) {
				t.Errorf("the error says absent: %t", absent)
			}
			if ctx.Err() != nil && test.timeout == time.Minute {
				t.Error("it waited for its context")
			}
			if len(sight.Containers) != 0 {
				t.Errorf("it saw %v", sight.Containers)
			}
		})
	}
}

func TestLookDenied(t *testing.T) {
	address := listen(t, func(net.Conn) {})
	if err := os.Chmod(address, 0); err != nil {
		t.Fatal(err)
	}
	result := make(chan error)
	go func() {
		// Root may connect to every socket; a thread with another user's file system id may
		// not. The thread ends with the goroutine.
		runtime.LockOSThread()
		if os.Getuid() == 0 {
			if err := syscall.Setfsuid(65534); err != nil {
				result <- err
				return
			}
		}
		_, err := containerd.New(address, holders.Devices{}).Look(context.Background(), usage.Question{})
		result <- err
	}()
	if err := <-result; !errors.Is(err, fs.ErrPermission) || errors.Is(err, usage.ErrAbsent) {
		t.Errorf("got %v, want permission denied", err)
	}
}
