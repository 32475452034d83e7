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

// maxAnswer bounds an answer in bytes. Docker tells about 2 kB of each container
// in a list.
const maxAnswer = 64 << 20

// errTooLong reports an answer of maxAnswer bytes or more.
var errTooLong = fmt.Errorf("the answer is longer than %d MiB", maxAnswer>>20)

// Daemon is the daemon behind a unix socket.
type Daemon struct {
	// Socket is the path of the socket.
	Socket string
	// Patience bounds how long the daemon may be silent at a time; 0 leaves it to
	// the context.
	Patience time.Duration
}

// Get returns the daemon's answer to GET of a path, which is sent as it stands.
// An answer is whole or an error: ErrNotFound for status 404, the context's
// cause once that is done, os.ErrDeadlineExceeded where the patience ended; and
// the system's own (fs.ErrNotExist, fs.ErrPermission, syscall.ECONNREFUSED) where
// there is nobody to ask. The error names the socket.
func (d Daemon) Get(ctx context.Context, path string) (Header, []byte, error) {
	return d.ask(ctx, request{method: http.MethodGet, path: path})
}

// request is what is sent, and what is expected.
type request struct {
	method, path string
	body         []byte // JSON, if any
	// status is the one of success, 200 if 0.
	status int
	// enough is after how many bytes the rest of an answer's body is not waited for;
	// 0 takes it whole, and fails where it is longer than maxAnswer.
	enough int64
}

// ask is Get for any request.
func (d Daemon) ask(ctx context.Context, q request) (Header, []byte, error) {
	answer, body, err := d.exchange(ctx, q)
	var op *net.OpError
	switch {
	case err == nil:
		err = q.refused(answer, body)
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = fmt.Errorf("silent for %s: %w", d.Patience, os.ErrDeadlineExceeded)
	case errors.Is(err, io.ErrUnexpectedEOF):
		err = fmt.Errorf("it hangs up: %w", err)
	case errors.As(err, &op):
		err = op.Err // without the socket, which follows
	}
	if err != nil {
		return Header{}, nil, fmt.Errorf("ask the docker daemon at %s: %w", d.Socket, err)
	}
	return Header{answer.Header}, body, nil
}

// exchange sends the request and returns the answer with its whole body, or enough
// of it. It is this end that closes the connection when the context is done, and that
// is an error: a part is never taken for the whole.
func (d Daemon) exchange(ctx context.Context, q request) (answer *http.Response, body []byte, err error) {
	r, err := http.NewRequest(q.method, "http://docker"+q.path, bytes.NewReader(q.body))
	if err != nil {
		return nil, nil, err
	}
	r.Close = true
	if q.body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	dialer := net.Dialer{Timeout: d.Patience}
	conn, err := dialer.DialContext(ctx, "unix", d.Socket)
	if err != nil {
		return nil, nil, err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	p := patient{conn, d.Patience}
	if err := r.Write(p); err != nil {
		return nil, nil, err
	}
	bound := &io.LimitedReader{R: p, N: maxAnswer}
	answer, err = http.ReadResponse(bufio.NewReader(bound), r)
	if err == nil {
		body, err = io.ReadAll(io.LimitReader(answer.Body, cmp.Or(q.enough, maxAnswer)))
	}
	if bound.N == 0 {
		err = errTooLong
	}
	return answer, body, err
}

// patient is a connection that waits for so long at a time.
type patient struct {
	net.Conn
	patience time.Duration
}

func (p patient) Read(b []byte) (int, error) {
	if err := p.wait(); err != nil {
		return 0, err
	}
	return p.Conn.Read(b)
}

func (p patient) Write(b []byte) (int, error) {
	if err := p.wait(); err != nil {
		return 0, err
	}
	return p.Conn.Write(b)
}

func (p patient) wait() error {
	if p.patience == 0 {
		return nil
	}
	return p.SetDeadline(time.Now().Add(p.patience))
}
