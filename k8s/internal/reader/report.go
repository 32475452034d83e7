// SPDX-License-Identifier: Apache-2.0

package reader

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/health"
	"github.com/metax-ctk/container-toolkit/internal/terminal"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// Report is one look at the GPUs of a node.
type Report struct {
	// Token names the report: no other, of this Server or of an earlier one, has the same.
	Token string    `json:"token"`
	At    time.Time `json:"at"`
	// Node is what discovery found last, without GPUs if there are none.
	Node gpu.Node `json:"node"`
	// Look is the look; each Report is another one.
	Look health.Look `json:"look"`
}

// Readings is what the GPUs of a node measure at one time.
type Readings struct {
	At     time.Time `json:"at"`
	Source string    `json:"source"` // "libmxsml" or "mx-smi"
	GPUs   []Reading `json:"gpus"`
}

// Reading is what one GPU measures.
type Reading struct {
	BDF gpu.BDF `json:"bdf"`
	gpu.Reading
}

// errAnswer reports an answer that no Server gives.
var errAnswer = errors.New("invalid answer of the reader")

// The limits of what is read.
const (
	maxAnswer   = 8 << 20 // a node of 4096 GPUs
	maxToken    = 64
	maxText     = 1000
	maxProblems = 64 // of one GPU
)

// decodeReport reads and checks a Report. Texts of it can be printed as they are.
func decodeReport(text []byte) (Report, error) {
	var raw struct {
		Report
		Node json.RawMessage `json:"node"`
	}
	if err := json.Unmarshal(text, &raw); err != nil {
		return Report{}, fmt.Errorf("%w: %.200q", errAnswer, err.Error())
	}
	r := raw.Report
	if r.Token == "" || len(r.Token) > maxToken || terminal.Line(r.Token) != r.Token {
		return Report{}, fmt.Errorf("%w: token %.40q", errAnswer, r.Token)
	}
	var err error
	if r.Node, err = gpu.DecodeNode(raw.Node); err != nil {
		return Report{}, fmt.Errorf("%w: %.200q", errAnswer, err.Error())
	}
	if len(r.Look.Readings) > gpu.MaxGPUs {
		return Report{}, fmt.Errorf("%w: %d GPUs", errAnswer, len(r.Look.Readings))
	}
	seen := map[string]bool{}
	for _, g := range r.Look.Readings {
		if g.Index < -1 || g.Index > gpu.MaxGPUs || seen[g.Key()] || len(g.Problems) > maxProblems {
			return Report{}, fmt.Errorf("%w: GPU %s with index %d and %d problems", errAnswer, g.BDF, g.Index, len(g.Problems))
		}
		seen[g.Key()] = true
		for i, p := range g.Problems {
			g.Problems[i] = health.Problem{
				Code: printableLine(p.Code), Text: printableLine(p.Text),
				Words: printableLine(p.Words),
			}
		}
	}
	r.Look.Failed = printableLine(r.Look.Failed)
	return r, nil
}

// printableLine makes a text of a stranger one that is short and can be printed.
func printableLine(text string) string {
	text = protocol.InCluster(text)
	if len(text) > maxText {
		text = text[:maxText]
	}
	return terminal.Line(text)
}

// decodeReadings reads and checks Readings.
func decodeReadings(text []byte) (Readings, error) {
	var r Readings
	if err := json.Unmarshal(text, &r); err != nil {
		return Readings{}, fmt.Errorf("%w: %.200q", errAnswer, err.Error())
	}
	if len(r.GPUs) > gpu.MaxGPUs {
		return Readings{}, fmt.Errorf("%w: %d GPUs", errAnswer, len(r.GPUs))
	}
	seen := map[gpu.BDF]bool{}
	for i, g := range r.GPUs {
		if seen[g.BDF] {
			return Readings{}, fmt.Errorf("%w: GPU %s occurs twice", errAnswer, g.BDF)
		}
		seen[g.BDF] = true
		r.GPUs[i].Reading.BDF = g.BDF
		r.GPUs[i].Reading.Check()
	}
	r.Source = printableLine(r.Source)
	return r, nil
}
