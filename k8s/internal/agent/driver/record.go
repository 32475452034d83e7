// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"github.com/metax-ctk/container-toolkit/internal/atomicfile"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
)

// Record is what was loaded last from a payload. It is written before the module is loaded,
// and lies below /run, so that it is gone after a boot, as the module is. Boot is checked
// nevertheless.
type Record struct {
	Boot       string `json:"boot"`
	Payload    string `json:"payload"` // its ID
	Version    string `json:"version,omitempty"`
	Srcversion string `json:"srcversion,omitempty"`
}

// readRecord returns the zero Record where there is none that can be read: then the driver is
// the host's.
func readRecord(file string) (Record, error) {
	var r Record
	o, err := atomicfile.Read(file, hostfs.MaxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err == nil {
		err = json.Unmarshal(o.Data, &r)
	}
	if err != nil {
		return Record{}, fmt.Errorf("read %s: %w", file, err)
	}
	return r, nil
}

func (r Record) saveTo(file string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	_, err = atomicfile.Write(file, append(text, '\n'), atomicfile.Options{Perm: 0o644})
	return err
}
