// SPDX-License-Identifier: Apache-2.0

package containerd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"syscall"

	"github.com/containerd/containerd/v2/defaults"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// Addresses returns the usual sockets of containerd below root that exist, as far as this
// user can see.
func Addresses(root string) []string {
	host, err := hostfs.New(root)
	if err != nil {
		return nil
	}
	var found []string
	for _, usual := range usage.Containerds {
		if file, err := host.Stat(usual.Socket); err == nil && file.Mode.Type() == fs.ModeSocket {
			found = append(found, host.Join(usual.Socket))
		}
	}
	return found
}

// dialSocket connects to the socket. gRPC would hide why it cannot, and the client's own
// dialer waits for a socket that does not exist.
func dialSocket(ctx context.Context, address string) (net.Conn, error) {
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
		return nil, fmt.Errorf("connect to containerd: no process listens on %s: %w", address, errno)
	}
	return nil, fmt.Errorf("connect to %s: %w", address, errno)
}

// newClient returns a gRPC client over this one connection. It cannot connect again, so that
// nobody waits for a daemon that has died.
func newClient(address string, conn net.Conn) (*grpc.ClientConn, error) {
	return grpc.NewClient("passthrough:///"+address,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) { return conn, nil }),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(defaults.DefaultMaxRecvMsgSize)),
	)
}
