// SPDX-License-Identifier: Apache-2.0

package reader

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"time"
)

// Serve answers requests on a socket until the context ends. A socket that a Server before
// left there goes. Everybody who can reach the socket may ask, so its directory has to be one
// of the pod alone.
func (s *Server) Serve(ctx context.Context, socket string) error {
	if info, err := os.Lstat(socket); err == nil && info.Mode().Type() == fs.ModeSocket {
		if err := os.Remove(socket); err != nil {
			return fmt.Errorf("remove the old socket: %w", err)
		}
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "unix", socket)
	if err != nil {
		return fmt.Errorf("listen for requests: %w", err)
	}
	if err := os.Chmod(socket, 0o666); err != nil { //nolint:gosec // G302: its directory is the pod's alone
		listener.Close()
		return fmt.Errorf("let others ask: %w", err)
	}
	server := &http.Server{Handler: s.Handler(), ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 16 << 10}
	defer context.AfterFunc(ctx, func() { server.Close() })()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("answer requests: %w", err)
	}
	return nil
}
