// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/metax-ctk/container-toolkit/internal/atomicfile"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// Record is a file in which an agent remembers, until the next boot, what it changed. It is
// written before the change.
type Record string

// made is what an agent changed.
type made struct {
	// Ours are the GPUs that this agent changed.
	Ours []gpu.BDF `json:"ours"`
	// Before are the numbers of virtual functions before a change that is under way, by
	// address.
	Before map[string]int `json:"before,omitempty"`
}

// readChanges returns what was changed. A file that cannot be read is an error: what others
// made must not be undone.
func (r Record) readChanges() (m made, err error) {
	text, err := os.ReadFile(string(r))
	if errors.Is(err, fs.ErrNotExist) {
		return made{}, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &m)
	}
	if err != nil {
		return made{}, fmt.Errorf("read what was changed: %w; remove the file if it is damaged", err)
	}
	return m, nil
}

// writeChanges replaces the record. One without GPUs is removed.
func (r Record) writeChanges(m made) error {
	if len(m.Ours) == 0 && len(m.Before) == 0 {
		_, err := atomicfile.Remove(string(r))
		return err
	}
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	_, err = atomicfile.Write(string(r), append(text, '\n'), atomicfile.Options{Perm: 0o600, NoSync: true})
	return err
}
