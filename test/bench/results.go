// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/metax-ctk/container-toolkit/test/bench/internal/figure"
)

// resultsFile keeps the results of the last run, from which the pages are made.
const resultsFile = "results.json"

// Results are one run of all measurements.
type Results struct {
	Machine Machine       `json:"machine"`
	Docker  string        `json:"docker"` // version of the daemon
	Shim    bool          `json:"shim"`   // figure.Engine says what
	Commit  string        `json:"commit"`
	Date    string        `json:"date"` // of the run, as 2006-01-02 in UTC
	Figures figure.Set    `json:"figures"`
	Busy    []figure.Busy `json:"busy,omitempty"`
}

// loadResults reads the results of the last run.
func loadResults() (Results, error) {
	text, err := os.ReadFile(resultsFile)
	if err != nil {
		return Results{}, fmt.Errorf("read results: %w (make bench measures)", err)
	}
	var r Results
	if err := json.Unmarshal(text, &r); err != nil {
		return Results{}, fmt.Errorf("read %s: %w", resultsFile, err)
	}
	return r, nil
}

func save(path string, results any) error {
	text, err := json.MarshalIndent(results, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

// loadEngine reads what the part with a container engine has measured.
func loadEngine(path string) (figure.Engine, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return figure.Engine{}, fmt.Errorf("read the engine's figures: %w", err)
	}
	var e figure.Engine
	if err := json.Unmarshal(text, &e); err != nil {
		return figure.Engine{}, fmt.Errorf("read the engine's figures %s: %w", filepath.Base(path), err)
	}
	return e, nil
}
