// SPDX-License-Identifier: Apache-2.0

package podresources

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// Socket is where the kubelet serves, unless its root directory is another.
const Socket = "/var/lib/kubelet/pod-resources/kubelet.sock"

// maxAnswer is the size of the largest answer in bytes, the kubelet's own limit.
const maxAnswer = 16 << 20

// Container is a container of a pod with the devices that the kubelet gave it.
type Container struct {
	Namespace, Pod, Name string
	// Devices are the ids of the devices by the name of their resource, in the kubelet's
	// order.
	Devices map[string][]string
}

// elsewhere are the sockets of kubelets whose directory is another one: that of k0s.
var elsewhere = []string{"/var/lib/k0s/kubelet/pod-resources/kubelet.sock"}

// Find returns the usual socket, or one of another place where the host has only that.
// Root is the host's root directory.
func Find(root, usual string) string {
	host, err := hostfs.New(root)
	if err != nil {
		return usual
	}
	for _, socket := range append([]string{usual}, elsewhere...) {
		if _, err := host.Lstat(socket); err == nil {
			return socket
		}
	}
	return usual
}

// Client asks the kubelet behind one socket.
type Client struct{ address string }

// New returns the client for the socket at address, a path of this machine.
func New(address string) Client { return Client{address} }

// List returns the containers that have devices. Its error wraps usage.ErrAbsent where the
// socket does not exist, and hostfs.ErrUntrusted where neither root nor this process's user
// listens on it.
func (c Client) List(ctx context.Context) ([]Container, error) {
	return ask(ctx, c.address, "List", decodeListResponse)
}

// Allocatable returns the ids of the devices that the kubelet may give, those in use among
// them, by the name of their resource: the healthy ones. Errors are as those of List; a
// kubelet before
// 1.23 has no such method.
func (c Client) Allocatable(ctx context.Context) (map[string][]string, error) {
	return ask(ctx, c.address, "GetAllocatableResources", decodeAllocatable)
}

// ask calls a method without arguments. Each call connects anew, since the kubelet may have
// been restarted.
func ask[T any](ctx context.Context, address, method string, decode func([]byte) (T, error)) (none T, err error) {
	conn, err := dial(ctx, address)
	if err != nil {
		return none, fmt.Errorf("connect to the kubelet: %w", err)
	}
	defer conn.Close() // gRPC may never take it over
	client, err := grpc.NewClient("passthrough:///kubelet",
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) { return conn, nil }),
	)
	if err != nil {
		return none, fmt.Errorf("connect to the kubelet: %w", err)
	}
	defer client.Close()
	var message []byte
	err = client.Invoke(ctx, "/v1.PodResourcesLister/"+method, []byte{}, &message,
		grpc.ForceCodec(raw{}), grpc.MaxCallRecvMsgSize(maxAnswer))
	if err != nil {
		return none, fmt.Errorf("ask the kubelet at %s for the devices of pods: %w", address, err)
	}
	answer, err := decode(message)
	if err != nil {
		return none, fmt.Errorf("read the answer of the kubelet at %s: %w", address, err)
	}
	return answer, nil
}

// dial connects to a socket and checks who listens there.
func dial(ctx context.Context, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "unix", address)
	if err != nil {
		if errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.ENOTDIR) {
			return nil, fmt.Errorf("%s is %w", address, usage.ErrAbsent)
		}
		return nil, err
	}
	if err := checkListener(conn.(*net.UnixConn)); err != nil {
		conn.Close()
		return nil, fmt.Errorf("%s: %w", address, err)
	}
	return conn, nil
}

// checkListener fails with hostfs.ErrUntrusted unless the process that listens is root's or
// of this process's user.
func checkListener(conn *net.UnixConn) error {
	control, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	var peer *unix.Ucred
	var peerErr error
	if err := control.Control(func(fd uintptr) {
		peer, peerErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil {
		return err
	}
	if peerErr != nil {
		return fmt.Errorf("find out who listens: %w", peerErr)
	}
	return checkUser(peer.Uid)
}

func checkUser(uid uint32) error {
	if hostfs.IsRoot(uid) || int64(uid) == int64(os.Geteuid()) {
		return nil
	}
	return fmt.Errorf("%w: a process of user %d listens on it", hostfs.ErrUntrusted, uid)
}

// raw hands messages over as they are.
type raw struct{}

func (raw) Marshal(v any) ([]byte, error) { return v.([]byte), nil }

func (raw) Unmarshal(data []byte, v any) error {
	*v.(*[]byte) = data
	return nil
}

// Name is that of the wire format.
func (raw) Name() string { return "proto" }
