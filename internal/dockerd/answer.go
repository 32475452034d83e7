package dockerd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// ErrNotFound reports something that the daemon does not have.
var ErrNotFound = errors.New("not found")

// StatusError is a refusal of the daemon's that has no error of its own.
type StatusError struct {
	Status  string // "500"
	Message string // what the daemon says of it
}

func (e *StatusError) Error() string { return fmt.Sprintf("it says %.200q", e.Message) }

// Header is the lines of an answer's header after the first.
type Header string

// Field returns the value of the first field with the name.
func (h Header) Field(name string) (string, bool) {
	for line := range strings.Lines(string(h)) {
		field, value, ok := strings.Cut(line, ":")
		if ok && strings.EqualFold(field, name) {
			return strings.TrimSpace(value), true
		}
	}
	return "", false
}

// APIVersion returns y of the API version 1.y that the daemon speaks at best.
func (h Header) APIVersion() (y int, ok bool) {
	value, _ := h.Field("Api-Version")
	text, ok := strings.CutPrefix(value, "1.")
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseUint(text, 10, 16)
	return int(n), err == nil
}

// APIVersion returns y of the API version 1.y that the daemon speaks at best.
func (d Daemon) APIVersion(ctx context.Context) (y int, err error) {
	header, _, err := d.Get(ctx, "/_ping")
	if err != nil {
		return 0, err
	}
	y, ok := header.APIVersion()
	if !ok {
		return 0, fmt.Errorf("ask the docker daemon at %s: it does not tell its API version", d.Socket)
	}
	return y, nil
}

// parse takes the answer apart and fails for any status but the one of success.
// It fails, too, where the answer is shorter than it says.
func (q request) parse(text []byte) (Header, []byte, error) {
	head, body, ok := bytes.Cut(text, []byte("\r\n\r\n"))
	switch {
	case len(text) == 0:
		return "", nil, fmt.Errorf("it hangs up: %w", io.ErrUnexpectedEOF)
	case !ok:
		return "", nil, fmt.Errorf("it hangs up after %.80q: %w", text, io.ErrUnexpectedEOF)
	}
	status, fields, _ := strings.Cut(string(head), "\r\n")
	header := Header(fields)
	// An answer to HEAD says the length of the one to GET.
	if length, ok := header.Field("Content-Length"); ok && q.method != "HEAD" && q.enough == 0 {
		if n, err := strconv.Atoi(length); err != nil || n != len(body) {
			return "", nil, fmt.Errorf("it sends %d bytes of %.20q: %w", len(body), length, io.ErrUnexpectedEOF)
		}
	}
	if encoding, ok := header.Field("Transfer-Encoding"); ok {
		return "", nil, fmt.Errorf("it answers with an encoding that was not asked for: %.20q", encoding)
	}
	success := q.status
	if success == "" {
		success = "200"
	}
	words := strings.Fields(status)
	switch {
	case len(words) < 2 || !strings.HasPrefix(words[0], "HTTP/1."):
		return "", nil, fmt.Errorf("it says %.80q", status)
	case words[1] == "404":
		return "", nil, fmt.Errorf("%w: it says %.200q", ErrNotFound, reason(status, body))
	case words[1] != success:
		return "", nil, &StatusError{Status: words[1], Message: reason(status, body)}
	}
	return header, body, nil
}

// reason is what the daemon says of a failure: its message, or else the status.
func reason(status string, body []byte) string {
	var said struct {
		Message string `json:"message"`
	}
	if err := json.Unmarshal(body, &said); err != nil || said.Message == "" {
		return status
	}
	return said.Message
}
