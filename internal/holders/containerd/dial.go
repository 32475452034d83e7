package containerd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"

	containerd "github.com/containerd/containerd/v2/client"
	"github.com/metax-ctk/container-toolkit/internal/usage"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// dial connects to the socket before gRPC hears of it: gRPC would hide why it
// cannot, and the client's own dialer waits for a socket that is not there.
func dial(ctx context.Context, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "unix", address)
	if err == nil {
		return conn, nil
	}
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		return nil, fmt.Errorf("connect to containerd: %w", err)
	}
	switch errno {
	case syscall.ENOENT, syscall.ENOTDIR:
		return nil, fmt.Errorf("connect to containerd: %s is %w", address, usage.ErrAbsent)
	case syscall.ECONNREFUSED:
		return nil, fmt.Errorf("connect to containerd: nobody listens at %s: %w", address, errno)
	}
	return nil, fmt.Errorf("connect to %s: %w", address, errno)
}

// open returns a client over the one connection. There is no other to be had, so
// a daemon that dies costs no waiting.
func open(address string, conn net.Conn) (*containerd.Client, error) {
	return containerd.New(address, containerd.WithDialOpts([]grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) { return conn, nil }),
	}))
}
