package dockerd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"
)

// maxAnswer bounds an answer in bytes. Docker tells about 2 kB of each container
// in a list.
const maxAnswer = 64 << 20

// errTooLong reports an answer of more than maxAnswer bytes.
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
	return d.ask(ctx, request{method: "GET", path: path})
}

// request is what is sent, and what is expected.
type request struct {
	method, path string
	body         []byte // JSON, if any
	// status is the one of success, 200 if empty.
	status string
	// enough is after how many bytes the rest of an answer is not waited for; 0
	// takes it whole, and fails where it is longer than maxAnswer.
	enough int64
}

func (q request) text() string {
	head := q.method + " " + q.path + " HTTP/1.0\r\nHost: docker\r\n" // 1.0: the answer is not chunked and ends with the connection
	if q.body != nil {
		head += fmt.Sprintf("Content-Type: application/json\r\nContent-Length: %d\r\n", len(q.body))
	}
	return head + "\r\n" + string(q.body)
}

// ask is Get for any request.
func (d Daemon) ask(ctx context.Context, q request) (Header, []byte, error) {
	text, err := d.exchange(ctx, q)
	var op *net.OpError
	switch {
	case err == nil:
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = fmt.Errorf("silent for %s: %w", d.Patience, os.ErrDeadlineExceeded)
	case errors.As(err, &op):
		err = op.Err // without the socket, which follows
	}
	var header Header
	var body []byte
	if err == nil {
		header, body, err = q.parse(text)
	}
	if err != nil {
		return "", nil, fmt.Errorf("ask the docker daemon at %s: %w", d.Socket, err)
	}
	return header, body, nil
}

// exchange sends the request and returns all that comes until the daemon closes
// the connection, or enough of it. It is this end that closes it when the context
// is done, and that is an error: a part is never taken for the whole.
func (d Daemon) exchange(ctx context.Context, q request) (text []byte, err error) {
	dialer := net.Dialer{Timeout: d.Patience}
	conn, err := dialer.DialContext(ctx, "unix", d.Socket)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	p := patient{conn, d.Patience}
	if _, err := io.WriteString(p, q.text()); err != nil {
		return nil, err
	}
	if q.enough > 0 {
		return io.ReadAll(io.LimitReader(p, q.enough))
	}
	text, err = io.ReadAll(io.LimitReader(p, maxAnswer+1))
	if err == nil && len(text) > maxAnswer {
		err = errTooLong
	}
	return text, err
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
