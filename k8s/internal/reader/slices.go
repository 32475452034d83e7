// SPDX-License-Identifier: Apache-2.0

package reader

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/discover/mxsml"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// Change is a change of the slices of a node: at first slices are removed, and then others
// made.
type Change struct {
	Remove []Alias              `json:"remove,omitempty"`
	Make   []mxsml.SliceRequest `json:"make,omitempty"`
}

// Alias names a slice.
type Alias struct {
	GPU   gpu.BDF `json:"gpu"`
	Alias string  `json:"alias"`
}

const (
	maxChange = 256 // slices; all of a node of 16 GPUs
	// changeTimeout bounds a Change: each of its slices takes a call or two of the vendor's
	// software.
	changeTimeout = 5 * time.Minute
)

func (c Change) check() error {
	if n := len(c.Remove) + len(c.Make); n > maxChange {
		return fmt.Errorf("%d slices at once; at most %d", n, maxChange)
	}
	for _, r := range c.Make {
		if err := r.Check(); err != nil {
			return err
		}
	}
	return nil
}

// serveSlices changes slices. One request does so at a time, and the others wait. A client
// that goes away does not end it.
func (s *Server) serveSlices(w http.ResponseWriter, r *http.Request) {
	var c Change
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&c)
	if err == nil {
		err = c.check()
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.changing.Lock()
	defer s.changing.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), changeTimeout)
	defer cancel()
	n, err := s.host.Slices(ctx, c)
	s.schedule.triggerLook()
	if err != nil {
		s.log.Warn("slices could not be changed", "error", err.Error())
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	writeJSON(w, n)
}

// Slices changes slices, and returns the node afterwards. After an error, some of the changes
// may have been made.
func (c *Client) Slices(ctx context.Context, change Change) (gpu.Node, error) {
	if err := change.check(); err != nil {
		return gpu.Node{}, err
	}
	body, err := json.Marshal(change)
	if err != nil {
		return gpu.Node{}, err
	}
	text, err := c.ask(ctx, http.MethodPost, "/v1/slices", bytes.NewReader(body), changeTimeout+answerTimeout)
	if err != nil {
		return gpu.Node{}, err
	}
	n, err := gpu.DecodeNode(text)
	if err != nil {
		return gpu.Node{}, fmt.Errorf("%w: %.200q", errAnswer, err.Error())
	}
	return n, nil
}

// fetchAnswer returns the content of an answer.
func (c *Client) fetchAnswer(ctx context.Context, path string, timeout time.Duration) ([]byte, error) {
	return c.ask(ctx, http.MethodGet, path, nil, timeout)
}

// ask returns the content of the answer to a request.
func (c *Client) ask(ctx context.Context, method, path string, body io.Reader, timeout time.Duration) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, "http://reader"+path, body)
	if err != nil {
		return nil, err
	}
	answer, err := c.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the answer of the reader: %w", err)
	case len(text) > maxAnswer:
		return nil, fmt.Errorf("%w: more than %d bytes", errAnswer, maxAnswer)
	case answer.StatusCode == http.StatusNotModified:
		return nil, errNotNewer
	case answer.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("the reader answers %d: %s", answer.StatusCode, printableLine(string(text)))
	}
	return text, nil
}
