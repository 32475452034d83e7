// SPDX-License-Identifier: Apache-2.0

package dockerd_test

import (
	"net"
	"net/http"
	"path/filepath"
	"testing"
)

// listen is a unix socket that the test ends.
func listen(t *testing.T) (l *net.UnixListener, socket string) {
	t.Helper()
	socket = filepath.Join(t.TempDir(), "d.sock")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l, socket
}

// serve answers with net/http, as the daemon does.
func serve(t *testing.T, h http.HandlerFunc) (socket string) {
	t.Helper()
	l, socket := listen(t)
	s := &http.Server{Handler: h}
	go s.Serve(l)
	t.Cleanup(func() { s.Close() })
	return socket
}

// say answers every question with the text and, unless it stays, hangs up.
func say(t *testing.T, text string, stays bool) (socket string) {
	t.Helper()
	l, socket := listen(t)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { conn.Close() })
			go func() {
				conn.Read(make([]byte, 4096))
				conn.Write([]byte(text))
				if !stays {
					conn.Close()
				}
			}()
		}
	}()
	return socket
}
