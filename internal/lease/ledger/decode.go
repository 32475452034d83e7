// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/lease"
	"github.com/metax-ctk/container-toolkit/internal/terminal"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// record is a state with the file that it was read from.
type record struct {
	state lease.State
	data  []byte // the file; nil for a new state
	// foreign is the file as a tree where it has fields that State does not have.
	foreign any
	// known is the part of foreign that State does have.
	known any
}

// damage is why a file is not a state, as the end of a sentence.
type damage string

func (d damage) Error() string { return string(d) }

// decodeState reads a state file. Its error is a damage or a *NewerError without a
// path. A state of another boot counts as none.
func decodeState(data []byte, boot string) (record, error) {
	r := record{data: data}
	strict := json.NewDecoder(bytes.NewReader(data))
	strict.DisallowUnknownFields()
	err := strict.Decode(&r.state)
	if _, end := strict.Token(); err != nil || !errors.Is(end, io.EOF) || r.state.APIVersion != lease.APIVersion {
		if r, err = decodeForeign(data); err != nil {
			return record{}, err
		}
	}
	if r.state.Boot != boot {
		return record{state: lease.NewState(boot)}, nil
	}
	if r.state.Leases == nil {
		r.state.Leases = []usage.Lease{}
	}
	// Sources see these entries again, so that a bad one does not make the file damaged.
	maps.DeleteFunc(r.state.Seen, func(key string, k lease.Known) bool { return checkSeen(key, k) != nil })
	r.state.Processes = slices.DeleteFunc(r.state.Processes, func(p usage.Process) bool { return checkProcess(p) != nil })
	if err := check(r.state, boot); err != nil {
		return record{}, damage(err.Error())
	}
	return r, nil
}

// decodeForeign reads a file that does not exactly match State: it has more fields, is of
// another version, or is damaged.
func decodeForeign(data []byte) (record, error) {
	var head struct {
		APIVersion string `json:"apiVersion"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return record{}, damage(err.Error())
	}
	switch head.APIVersion {
	case lease.APIVersion: // the one that is known
	case "":
		return record{}, damage("it states no apiVersion")
	default:
		return record{}, &NewerError{Version: head.APIVersion}
	}
	r := record{data: data}
	if err := json.Unmarshal(data, &r.state); err != nil {
		return record{}, damage(err.Error())
	}
	known, err := json.Marshal(r.state)
	if err != nil {
		return record{}, damage(err.Error())
	}
	if r.foreign, err = parseJSONTree(data); err != nil {
		return record{}, damage(err.Error())
	}
	if r.known, err = parseJSONTree(known); err != nil {
		return record{}, damage(err.Error())
	}
	return r, nil
}

// encodeState returns the file for the state as it is now, with the foreign fields of the old
// file.
func (r record) encodeState(boot string) ([]byte, error) {
	if err := check(r.state, boot); err != nil {
		return nil, fmt.Errorf("refuse to write a state that cannot be read: %w", err)
	}
	data, err := json.MarshalIndent(r.state, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode state: %w", err)
	}
	if r.foreign != nil {
		now, err := parseJSONTree(data)
		if err != nil {
			return nil, fmt.Errorf("encode state: %w", err)
		}
		carryForeignFields(r.foreign, r.known, now)
		if reflect.DeepEqual(now, r.foreign) {
			return r.data, nil // another order of fields is not a change
		}
		if data, err = json.MarshalIndent(now, "", "  "); err != nil {
			return nil, fmt.Errorf("encode state: %w", err)
		}
	}
	if len(data) >= maxState {
		return nil, fmt.Errorf("refuse to write a state that cannot be read: it has %d bytes", len(data))
	}
	return append(data, '\n'), nil
}

// check returns an error where the state breaks a rule of State.
func check(s lease.State, boot string) error {
	switch {
	case s.APIVersion != lease.APIVersion:
		return fmt.Errorf("its apiVersion is %q, not %q", s.APIVersion, lease.APIVersion)
	case s.Kind != lease.StateKind:
		return fmt.Errorf("its kind is %q, not %q", s.Kind, lease.StateKind)
	case s.Boot != boot:
		return fmt.Errorf("its boot is %q, not %q", s.Boot, boot)
	}
	last := ""
	for _, l := range s.Leases {
		switch {
		case l.ID <= last:
			return fmt.Errorf("leases are not sorted: %q after %q", l.ID, last)
		case len(l.GPUs) == 0:
			return fmt.Errorf("lease %q has no GPU", l.ID)
		}
		last = l.ID
	}
	for i, t := range s.Queue {
		if t.ID == "" {
			return fmt.Errorf("request %d of the queue has no ID", i+1)
		}
	}
	return checkTexts(s)
}

// checkTexts refuses text that may not be printed, as all text of the state is printed in
// tables and messages.
func checkTexts(s lease.State) error {
	for _, l := range s.Leases {
		if !clean(
			append(slices.Clone(l.Slices), l.ID, l.Engine, l.Endpoint, l.Verb, userName(l.User), l.Container, l.Started)...) {
			return fmt.Errorf("lease %q has unprintable text", l.ID)
		}
	}
	for _, t := range s.Queue {
		if !clean(t.ID, userName(t.User), userName(t.Ended)) {
			return fmt.Errorf("request %q has unprintable text", t.ID)
		}
	}
	for _, p := range s.Processes {
		if err := checkProcess(p); err != nil {
			return err
		}
	}
	for key, k := range s.Seen {
		if err := checkSeen(key, k); err != nil {
			return err
		}
	}
	return nil
}

func checkProcess(p usage.Process) error {
	if !clean(p.Command, p.Container) {
		return fmt.Errorf("process %d has unprintable text", p.PID)
	}
	return nil
}

func checkSeen(key string, k lease.Known) error {
	if !clean(append(slices.Clone(k.Slices), key, k.Engine, k.Endpoint, k.Name, k.Image, k.Lease)...) {
		return fmt.Errorf("container %q has unprintable text", key)
	}
	return nil
}

func clean(texts ...string) bool {
	return !slices.ContainsFunc(texts, func(s string) bool { return !terminal.Clean(s) })
}

func userName(u *usage.User) string {
	if u == nil {
		return ""
	}
	return u.Name
}
