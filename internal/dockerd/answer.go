// SPDX-License-Identifier: Apache-2.0

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

// ErrNotFound reports an object that the daemon does not have.
var ErrNotFound = errors.New("not found")

// StatusError is an error response of the daemon without an error value of its own.
type StatusError struct {
	Status  int
	Message string // what the daemon says of it
}

func (e *StatusError) Error() string { return fmt.Sprintf("it says %.200q", e.Message) }

// Header is the header of a response.
type Header struct{ http.Header }

// APIVersion returns y of the newest API version 1.y that the daemon supports.
func (h Header) APIVersion() (y int, ok bool) {
	text, ok := strings.CutPrefix(h.Get("Api-Version"), "1.")
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseUint(text, 10, 16)
	return int(n), err == nil
}

// APIVersion returns y of the newest API version 1.y that the daemon supports.
func (d Daemon) APIVersion(ctx context.Context) (y int, err error) {
	header, _, err := d.Get(ctx, "/_ping")
	if err != nil {
		return 0, err
	}
	y, ok := header.APIVersion()
	if !ok {
		return 0, fmt.Errorf("ask the docker daemon at %s: it does not report its API version", d.Socket)
	}
	return y, nil
}

// responseError is the error of a response that is not the expected success; nil if it is.
func (q request) responseError(answer *http.Response, body []byte) error {
	switch answer.StatusCode {
	case cmp.Or(q.status, http.StatusOK):
		return nil
	case http.StatusNotFound:
		return fmt.Errorf("%w: it says %.200q", ErrNotFound, failureText(answer.Status, body))
	}
	return &StatusError{Status: answer.StatusCode, Message: failureText(answer.Status, body)}
}

// failureText is the daemon's message about a failure, or else the status.
func failureText(status string, body []byte) string {
	var said struct {
		Message string `json:"message"`
	}
	if err := json.Unmarshal(body, &said); err != nil || said.Message == "" {
		return status
	}
	return said.Message
}
