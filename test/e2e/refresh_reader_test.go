// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// pause is between two looks of the reader, which would have a processor for itself.
const pause = 200 * time.Microsecond

// specReader reads a directory of specs as an engine does.
type specReader struct {
	dir    string
	truths map[string]string // the name of each by its text
	met    map[string]int    // how often each was met after another
	last   string
	looks  int
}

func newSpecReader(dir string) *specReader {
	return &specReader{dir: dir, truths: map[string]string{}, met: map[string]int{}}
}

// learn takes down the spec that is there, which has so many devices.
func (s *specReader) learn(name string, devices int) error {
	text, err := os.ReadFile(filepath.Join(s.dir, specName))
	if err != nil {
		return err
	}
	var spec struct{ Devices []any }
	if err := json.Unmarshal(text, &spec); err != nil {
		return err
	}
	if len(spec.Devices) != devices {
		return fmt.Errorf("%s: the spec has %d devices, want %d", name, len(spec.Devices), devices)
	}
	s.truths[string(text)] = name
	return nil
}

// look reads every spec in the directory. The toolkit's spec exists and is one of the
// known ones; every other file that an engine would read is complete.
func (s *specReader) look() error {
	s.looks++
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return err
	}
	there := false
	for _, e := range entries {
		if ext := filepath.Ext(e.Name()); ext != ".json" && ext != ".yaml" {
			continue
		}
		text, err := os.ReadFile(filepath.Join(s.dir, e.Name()))
		switch {
		case e.Name() != specName && errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return err
		case e.Name() != specName:
			if !json.Valid(text) {
				return fmt.Errorf("%s is not whole: %d bytes", e.Name(), len(text))
			}
			continue
		}
		there = true
		name, known := s.truths[string(text)]
		if !known {
			return fmt.Errorf("a spec of %d bytes is none of the truths: %s", len(text), cmp.Diff(s.last, string(text)))
		}
		if string(text) != s.last {
			s.last = string(text)
			s.met[name]++
		}
	}
	if !there {
		return fmt.Errorf("%s does not stand in its directory: %v", specName, entries)
	}
	return nil
}

// during checks repeatedly while something happens.
func (s *specReader) during(t *testing.T, do func()) {
	t.Helper()
	s.looks, s.met = 0, map[string]int{}
	over := make(chan struct{})
	var wrong []error
	var reader sync.WaitGroup
	reader.Go(func() {
		for {
			select {
			case <-over:
				return
			default:
			}
			if err := s.look(); err != nil && len(wrong) < 10 {
				wrong = append(wrong, err)
			}
			time.Sleep(pause)
		}
	})
	func() {
		defer reader.Wait()
		defer close(over) // also where the test ends in the middle
		do()
	}()
	t.Logf("looked %d times: %v", s.looks, s.met)
	for _, err := range wrong {
		t.Error(err)
	}
	if len(s.met) < 2 {
		t.Errorf("the spec was never another: %v", s.met)
	}
}
