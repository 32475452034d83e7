// SPDX-License-Identifier: Apache-2.0

// Package webserver serves HTTP on a port that strangers can reach: with short times, few
// connections for each address, and a bound on all of them.
package webserver

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"time"
)

// The times of a connection. Who asks again and again, a scheduler, Prometheus or the kubelet,
// keeps or renews it.
const (
	headerTime = 2 * time.Second
	bodyTime   = 10 * time.Second
	idleTime   = 30 * time.Second
	endTime    = 2 * time.Second
)

// Serve answers at the address, by HTTPS if config is not nil, until ctx ends. Questions that
// take longer than two seconds are broken off then.
func Serve(ctx context.Context, address string, config *tls.Config, handler http.Handler) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	return serve(ctx, newGuard(listener), config, handler)
}

func serve(ctx context.Context, g *guard, config *tls.Config, handler http.Handler) error {
	var listener net.Listener = g
	if config != nil {
		listener = tls.NewListener(g, config)
	}
	server := &http.Server{
		Handler: handler, ConnState: g.trackConnState,
		ReadHeaderTimeout: headerTime, ReadTimeout: bodyTime, WriteTimeout: bodyTime, IdleTimeout: idleTime,
		MaxHeaderBytes: 16 << 10,
	}
	ended := make(chan struct{})
	broken := context.AfterFunc(ctx, func() {
		defer close(ended)
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
		defer cancel()
		_ = server.Shutdown(end)
		server.Close()
	})
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		broken()
		return err
	}
	<-ended
	return nil
}
