// SPDX-License-Identifier: Apache-2.0

package dockerd

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"
)

// maxAnswer is the longest response accepted, in bytes. A container in a list takes
// about 2 kB.
const maxAnswer = 64 << 20

// errTooLong reports a response of maxAnswer bytes or more.
var errTooLong = fmt.Errorf("the answer is longer than %d MiB", maxAnswer>>20)

// Daemon is the daemon behind a unix socket.
type Daemon struct {
	// Socket is the path of the socket.
	Socket string
	// Timeout is how long the daemon may send nothing; 0 leaves it to the context.
	Timeout time.Duration
}

// Get returns the daemon's response to GET of a path, which is sent as it is. A
// response is complete or an error: ErrNotFound for status 404, the context's cause
// once that is done, os.ErrDeadlineExceeded after Timeout, and the system's own
// (fs.ErrNotExist, fs.ErrPermission, syscall.ECONNREFUSED) if there is no daemon. The
// error names the socket.
func (d Daemon) Get(ctx context.Context, path string) (Header, []byte, error) {
	return d.sendRequest(ctx, request{method: http.MethodGet, path: path})
}

// request is what to send, and which response to expect.
type request struct {
	method, path string
	body         []byte // JSON, if any
	// status is the status of success, 200 if 0.
	status int
	// maxBody is how many bytes of the response's body to read; the rest is ignored. 0
	// reads all, and fails if that is longer than maxAnswer.
	maxBody int64
}

// sendRequest is Get for any request.
func (d Daemon) sendRequest(ctx context.Context, q request) (Header, []byte, error) {
	answer, body, err := d.exchange(ctx, q)
	var op *net.OpError
	switch {
	case err == nil:
		err = q.responseError(answer, body)
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = fmt.Errorf("silent for %s: %w", d.Timeout, os.ErrDeadlineExceeded)
	case errors.Is(err, io.ErrUnexpectedEOF):
		err = fmt.Errorf("it closed the connection: %w", err)
	case errors.As(err, &op):
		err = op.Err // without the socket, which is added below
	}
	if err != nil {
		return Header{}, nil, fmt.Errorf("ask the docker daemon at %s: %w", d.Socket, err)
	}
	return Header{answer.Header}, body, nil
}

// exchange sends the request and returns the response with its body, whole or the first
// maxBody bytes. It closes the connection when the context is done, which is an error,
// so a part never counts as the whole.
func (d Daemon) exchange(ctx context.Context, q request) (answer *http.Response, body []byte, err error) {
	r, err := http.NewRequest(q.method, "http://docker"+q.path, bytes.NewReader(q.body))
	if err != nil {
		return nil, nil, err
	}
	r.Close = true
	if q.body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	dialer := net.Dialer{Timeout: d.Timeout}
	conn, err := dialer.DialContext(ctx, "unix", d.Socket)
	if err != nil {
		return nil, nil, err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	p := deadlineConn{conn, d.Timeout}
	if err := r.Write(p); err != nil {
		return nil, nil, err
	}
	bound := &io.LimitedReader{R: p, N: maxAnswer}
	answer, err = http.ReadResponse(bufio.NewReader(bound), r)
	if err == nil {
		body, err = io.ReadAll(io.LimitReader(answer.Body, cmp.Or(q.maxBody, maxAnswer)))
	}
	if bound.N == 0 {
		err = errTooLong
	}
	return answer, body, err
}

// deadlineConn is a connection whose every read and write has a time limit.
type deadlineConn struct {
	net.Conn
	timeout time.Duration
}

func (p deadlineConn) Read(b []byte) (int, error) {
	if err := p.wait(); err != nil {
		return 0, err
	}
	return p.Conn.Read(b)
}

func (p deadlineConn) Write(b []byte) (int, error) {
	if err := p.wait(); err != nil {
		return 0, err
	}
	return p.Conn.Write(b)
}

func (p deadlineConn) wait() error {
	if p.timeout == 0 {
		return nil
	}
	return p.SetDeadline(time.Now().Add(p.timeout))
}
