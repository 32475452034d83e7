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
	// MaxState is the size in bytes beyond which a state is refused; real ones
	// have a few hundred, and annotations may add some thousands.
	MaxState = 1 << 20
	// Patience is how long a runtime may take to send it.
	Patience = 5 * time.Second
)

// State is what a hook is told of its container (OCI runtime spec, "State"). The
// process id is whatever the runtime says, and may be 0 or one of another
// namespace.
type State struct {
	ID     string `json:"id"`
	Status string `json:"status"`
	Pid    int    `json:"pid"`
	Bundle string `json:"bundle"` // absolute, clean, without control characters
}

// ReadState reads a state from a hook's standard input.
func ReadState(in io.Reader) (*State, error) {
	data, err := ReadInput(in, MaxState, Patience)
	if err != nil {
		return nil, err
	}
	return ParseState(data)
}

// ParseState reads a state; unknown fields are ignored.
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
	if !filepath.IsAbs(path) || slices.Contains(strings.Split(path, "/"), "..") || strings.ContainsFunc(path, unicode.IsControl) {
		return errPath
	}
	return nil
}
