// SPDX-License-Identifier: Apache-2.0

package docker_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/dockerd"
	"github.com/metax-ctk/container-toolkit/internal/holders"
	"github.com/metax-ctk/container-toolkit/internal/holders/docker"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

func TestName(t *testing.T) {
	engine, endpoint := docker.New("/run/docker.sock", holders.Devices{}).Name()
	if engine != "docker" || endpoint != "/run/docker.sock" {
		t.Errorf("got %q, %q", engine, endpoint)
	}
}

func TestContainer(t *testing.T) {
	m := newMachine(t)
	d := &daemon{containers: []made{{id("a"), "job", "exited", map[string]string{usage.LeaseLabel: "l1"}, and(cdi("metax-tech.com/gpu=3"), "Privileged", true), false}}}
	s := serve(t, d, m.devices)
	got, err := s.Container(t.Context(), "job")
	if err != nil {
		t.Fatal(err)
	}
	want := usage.Container{
		Engine: "docker", ID: id("a"), State: usage.Exited, Started: began,
		Facts: usage.Facts{Name: "job", Image: "maca:3", Lease: "l1", GPUs: m.gpus(3), Privileged: true, Created: time.Unix(bornSeconds, 0).UTC()},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, err := s.Container(t.Context(), "none"); !errors.Is(err, dockerd.ErrNotFound) {
		t.Errorf("got %v", err)
	}
}

func TestLookNobody(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "none.sock")
	sight, err := docker.New(missing, holders.Devices{}).Look(t.Context(), usage.Question{})
	if !errors.Is(err, usage.ErrAbsent) || !strings.Contains(err.Error(), missing) || sight.Containers != nil {
		t.Errorf("without a socket: %v, %v", sight, err)
	}
	// A daemon that has ended may have left containers alive.
	left := filepath.Join(t.TempDir(), "left.sock")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: left, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	l.Close()
	sight, err = docker.New(left, holders.Devices{}).Look(t.Context(), usage.Question{})
	if !errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, usage.ErrAbsent) || !sight.Partial {
		t.Errorf("without a listener: %v, %v", sight, err)
	}
}

// Who may not ask is told who may.
func TestLookDenied(t *testing.T) {
	// Nobody must reach the socket to see whose it is.
	dir, err := os.MkdirTemp("/tmp", "docker-source-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "d.sock")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := os.Chmod(socket, 0); err != nil {
		t.Fatal(err)
	}
	gid := strconv.Itoa(os.Getegid())
	want := gid
	if group, err := user.LookupGroupId(gid); err == nil {
		want = group.Name
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if os.Geteuid() == 0 {
			// Root may do all; this thread becomes nobody, and ends with the goroutine.
			runtime.LockOSThread()
			if err := unix.Setfsuid(65534); err != nil {
				t.Error(err)
				return
			}
		}
		sight, err := docker.New(socket, holders.Devices{}).Look(t.Context(), usage.Question{})
		if !errors.Is(err, fs.ErrPermission) || !sight.Partial || !strings.Contains(err.Error(), strconv.Quote(want)) {
			t.Errorf("got %v, %v; want group %q", sight, err, want)
		}
	}()
	<-done
}

// A list that ends early is not a list.
func TestLookCutOff(t *testing.T) {
	for name, h := range map[string]http.HandlerFunc{
		"refused": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) },
		"hung up": func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, `[{"Id":"a","State":"running"}`)
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		},
		"hangs": func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, `[]`)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			sight, err := serve(t, h, holders.Devices{}).Look(ctx, usage.Question{})
			if err == nil || !sight.Partial || sight.Containers != nil {
				t.Errorf("got %v, %v", sight, err)
			}
			if name == "hangs" && !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v", err)
			}
		})
	}
}
