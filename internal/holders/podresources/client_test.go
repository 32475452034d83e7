// SPDX-License-Identifier: Apache-2.0

package podresources

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// serve starts a kubelet that gives the same answer to every List, and returns its socket.
func serve(t *testing.T, answer []byte, err error) string {
	t.Helper()
	address := filepath.Join(t.TempDir(), "k.sock")
	listener, listenErr := net.Listen("unix", address)
	if listenErr != nil {
		t.Fatal(listenErr)
	}
	server := grpc.NewServer(grpc.ForceServerCodec(raw{}), grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
		if method, _ := grpc.MethodFromServerStream(stream); method != "/v1.PodResourcesLister/List" && method != "/v1.PodResourcesLister/GetAllocatableResources" {
			return status.Errorf(codes.Unimplemented, "method %s", method)
		}
		var request []byte
		if err := stream.RecvMsg(&request); err != nil {
			return err
		}
		if err != nil {
			return err
		}
		return stream.SendMsg(answer)
	}))
	go server.Serve(listener)
	t.Cleanup(server.Stop)
	return address
}

func TestList(t *testing.T) {
	got, err := New(serve(t, published(), nil)).List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(publishedContainers, got); diff != "" {
		t.Error(diff)
	}
}

func TestAllocatable(t *testing.T) {
	gpus := func(id string) []byte { return message(1, "metax-tech.com/gpu", 2, id, 3, message(1, message(1, 0))) }
	answer := message(1, gpus("GPU-0"), 1, gpus("GPU-1"), 1, message(1, "rdma/hca", 2, "mlx5_0"), 2, 7)
	got, err := New(serve(t, answer, nil)).Allocatable(t.Context())
	want := map[string][]string{"metax-tech.com/gpu": {"GPU-0", "GPU-1"}, "rdma/hca": {"mlx5_0"}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	if got, err := New(serve(t, []byte{0x0a, 9, 1}, nil)).Allocatable(t.Context()); err == nil {
		t.Errorf("got %v from no answer", got)
	}
}

func TestListFails(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, test := range []struct {
		name, address string
		ctx           context.Context
		want          error // nil for any
		says          string
	}{
		{"no socket", filepath.Join(t.TempDir(), "absent"), t.Context(), usage.ErrAbsent, "absent is not on this machine"},
		{"below a file", file + "/k.sock", t.Context(), usage.ErrAbsent, "not on this machine"},
		{"a file", file, t.Context(), nil, "connect to the kubelet"},
		{"no time", serve(t, nil, nil), cancelled, context.Canceled, "connect to the kubelet"},
		{"the kubelet refuses", serve(t, nil, status.Error(codes.ResourceExhausted, "rate limit")), t.Context(), nil, "rate limit"},
		{"not an answer", serve(t, []byte{0x0a, 9, 1}, nil), t.Context(), nil, "read the answer of the kubelet"},
		{"too large an answer", serve(t, make([]byte, maxAnswer+1), nil), t.Context(), nil, "larger than max"},
	} {
		t.Run(test.name, func(t *testing.T) {
			list, err := New(test.address).List(test.ctx)
			if err == nil || !strings.Contains(err.Error(), test.says) || test.want != nil && !errors.Is(err, test.want) {
				t.Errorf("got %v, %v; want an error that says %q", list, err, test.says)
			}
		})
	}
}

// A stranger who gets hold of the socket's path decides nothing.
func TestCheckUser(t *testing.T) {
	const stranger = 54321
	if err := checkUser(stranger); !errors.Is(err, hostfs.ErrUntrusted) {
		t.Errorf("user %d: %v", stranger, err)
	}
	for _, uid := range []uint32{0, uint32(os.Geteuid())} {
		if err := checkUser(uid); err != nil {
			t.Errorf("user %d: %v", uid, err)
		}
	}
}

// TestFind: the kubelet of k0s has another directory, and counts where there is no usual one.
func TestFind(t *testing.T) {
	root := t.TempDir()
	add := func(socket string) {
		if err := os.MkdirAll(filepath.Join(root, filepath.Dir(socket)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, socket), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want := func(socket string) {
		t.Helper()
		if got := Find(root, Socket); got != socket {
			t.Errorf("found %s, want %s", got, socket)
		}
	}
	want(Socket)
	add("/var/lib/k0s/kubelet/pod-resources/kubelet.sock")
	want("/var/lib/k0s/kubelet/pod-resources/kubelet.sock")
	add(Socket)
	want(Socket)
}
