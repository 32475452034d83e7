// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"
)

const (
	// MaxState is the largest state accepted, in bytes. Real ones have a few hundred
	// bytes, and annotations may add some thousands.
	MaxState = 1 << 20
	// ReadTimeout is how long a runtime may take to send the state.
	ReadTimeout = 5 * time.Second
)

// State is what a runtime tells a hook about the container (OCI runtime spec, "State").
// The process id is what the runtime sent; it may be 0 or belong to another namespace.
type State struct {
	ID     string `json:"id"`
	Status string `json:"status"`
	Pid    int    `json:"pid"`
	Bundle string `json:"bundle"` // absolute, clean, without control characters
}

// ReadState reads a state from a hook's standard input.
func ReadState(in io.Reader) (*State, error) {
	data, err := ReadInput(in, MaxState, ReadTimeout)
	if err != nil {
		return nil, err
	}
	return ParseState(data)
}

// ParseState parses a state; it ignores unknown fields.
func ParseState(data []byte) (*State, error) {
	var s State
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, fmt.Errorf("parse state: %w", err)
	}
	if err := checkPath(s.Bundle); err != nil {
		return nil, fmt.Errorf("parse state: bundle %q: %w", s.Bundle, err)
	}
	s.Bundle = filepath.Clean(s.Bundle)
	return &s, nil
}

var errPath = errors.New(`not an absolute path without ".." and control characters`)

func checkPath(path string) error {
	if !filepath.IsAbs(path) || slices.Contains(strings.Split(path, "/"), "..") ||
		strings.ContainsFunc(path, unicode.IsControl) {
		return errPath
	}
	return nil
}

var (
	// ErrTooLarge reports an input that exceeds its limit.
	ErrTooLarge = errors.New("more than a runtime sends")
	// ErrNoEnd reports an input that did not end in time.
	ErrNoEnd = errors.New("end of input not reached")
)

// ReadInput reads what the runtime writes to standard input, at most limit bytes, until
// its end and within the given time. After an error a read may still be running, so the
// process must end.
func ReadInput(in io.Reader, limit int64, within time.Duration) ([]byte, error) {
	type result struct {
		data []byte
		err  error
	}
	done := make(chan result, 1)
	go func() {
		data, err := io.ReadAll(io.LimitReader(in, limit+1))
		done <- result{data, err}
	}()
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case r := <-done:
		switch {
		case r.err != nil:
			return nil, fmt.Errorf("read standard input: %w", r.err)
		case int64(len(r.data)) > limit:
			return nil, fmt.Errorf("read standard input: %w: over %d bytes", ErrTooLarge, limit)
		}
		return r.data, nil
	case <-timer.C:
		return nil, fmt.Errorf("read standard input: %w within %v", ErrNoEnd, within)
	}
}
