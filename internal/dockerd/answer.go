package dockerd

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// ErrNotFound reports something that the daemon does not have.
var ErrNotFound = errors.New("not found")

// StatusError is a refusal of the daemon's that has no error of its own.
type StatusError struct {
	Status  int
	Message string // what the daemon says of it
}

func (e *StatusError) Error() string { return fmt.Sprintf("it says %.200q", e.Message) }

// Header is the header of an answer.
type Header struct{ http.Header }

// APIVersion returns y of the API version 1.y that the daemon speaks at best.
func (h Header) APIVersion() (y int, ok bool) {
	text, ok := strings.CutPrefix(h.Get("Api-Version"), "1.")
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

// refused is why an answer is not the success that the request expects, nil if it is.
func (q request) refused(answer *http.Response, body []byte) error {
	switch answer.StatusCode {
	case cmp.Or(q.status, http.StatusOK):
		return nil
	case http.StatusNotFound:
		return fmt.Errorf("%w: it says %.200q", ErrNotFound, reason(answer.Status, body))
	}
	return &StatusError{Status: answer.StatusCode, Message: reason(answer.Status, body)}
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
