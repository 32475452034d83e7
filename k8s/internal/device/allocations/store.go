// SPDX-License-Identifier: Apache-2.0

package allocations

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/atomicfile"
)

// maxFile is the size of the largest file in bytes; one Entry takes some 200.
const maxFile = 4 << 20

const version = "metax-ctk/allocations/v1"

// ErrDamaged reports a file that is not a State as it was written.
var ErrDamaged = errors.New("damaged")

// ErrForeign reports a file of another boot, after which no container has what it says.
var ErrForeign = errors.New("of another boot")

// file is a State on the disk. The sum is that of the State's bytes.
type file struct {
	APIVersion string          `json:"apiVersion"`
	Boot       string          `json:"boot"`
	State      json.RawMessage `json:"state"`
	SHA256     string          `json:"sha256"`
}

// Store keeps a State in the file at Path. Boot is the id of this boot.
type Store struct{ Path, Boot string }

// Load returns the State of the file. If the file is missing the State is empty; beside an
// error, which wraps ErrDamaged or ErrForeign or says why the file cannot be read, it is empty
// as well, and Save writes it anew.
func (s Store) Load() (State, error) {
	empty := State{Entries: []Entry{}}
	read, err := atomicfile.Read(s.Path, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return empty, nil
	}
	if err != nil {
		return empty, fmt.Errorf("read the record of allocations: %w", err)
	}
	state, err := decode(read.Data, s.Boot)
	if err != nil {
		return empty, fmt.Errorf("read the record of allocations %s: %w", s.Path, err)
	}
	return state, nil
}

func decode(data []byte, boot string) (State, error) {
	var f file
	if err := json.Unmarshal(data, &f); err != nil {
		return State{}, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if f.APIVersion != version {
		return State{}, fmt.Errorf("%w: its version is %q, not %q", ErrDamaged, f.APIVersion, version)
	}
	if f.SHA256 != sum(f.Boot, f.State) {
		return State{}, fmt.Errorf("%w: its checksum is wrong", ErrDamaged)
	}
	if f.Boot != boot {
		return State{}, fmt.Errorf("%w", ErrForeign)
	}
	var s State
	if err := json.Unmarshal(f.State, &s); err != nil {
		return State{}, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	s.Entries = slices.DeleteFunc(append([]Entry{}, s.Entries...), func(e Entry) bool { return len(e.IDs) == 0 })
	return s, nil
}

// Save writes the State. The file does not outlive the boot, so it is not flushed to the disk.
func (s Store) Save(state State) error {
	data, err := encode(state, s.Boot)
	if err == nil {
		_, err = atomicfile.Write(s.Path, data, atomicfile.Options{Perm: 0o600, NoSync: true})
	}
	if err != nil {
		return fmt.Errorf("write the record of allocations: %w", err)
	}
	return nil
}

func encode(state State, boot string) ([]byte, error) {
	text, err := json.Marshal(state)
	if err != nil {
		return nil, err
	}
	return json.Marshal(file{APIVersion: version, Boot: boot, State: text, SHA256: sum(boot, text)})
}

func sum(boot string, state []byte) string {
	digest := sha256.Sum256(append([]byte(boot+"\n"), state...))
	return hex.EncodeToString(digest[:])
}
