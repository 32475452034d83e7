// SPDX-License-Identifier: Apache-2.0

// Package figure summarizes measurements: many runs in, a median and the slow runs out.
// It neither measures nor judges.
package figure

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
)

// Unit is what a figure counts.
type Unit string

const (
	Nanoseconds Unit = "ns"
	Bytes       Unit = "B"
	Count       Unit = "count"
)

// Summary is what many runs of one thing gave.
type Summary struct {
	Unit   Unit    `json:"unit"`
	Runs   int     `json:"runs"`
	Median float64 `json:"median"`
	P95    float64 `json:"p95"`
	P99    float64 `json:"p99"`
	Worst  float64 `json:"worst"`
	// Low and High bound the true median with 95 % confidence, whatever the distribution.
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Set is figures by name.
type Set map[string]Summary

// Engine is what was measured with a container engine.
type Engine struct {
	Docker string `json:"docker"` // version of the daemon
	// Shim reports whether a program of the tests runs in front of runc, as on a
	// machine that withholds capabilities or cgroup controllers from root.
	Shim    bool   `json:"shim"`
	Figures Set    `json:"figures"`
	Busy    []Busy `json:"busy,omitempty"`
}

// Summarise returns the summary of at least one value.
func Summarise(unit Unit, values []float64) Summary {
	v := slices.Sorted(slices.Values(values))
	n := len(v)
	// The interval of a median by order statistics: how many of n values lie below it is
	// binomial, with mean n/2 and standard deviation sqrt(n)/2.
	low := max(0, int(math.Floor((float64(n)-1.96*math.Sqrt(float64(n)))/2)))
	return Summary{
		Unit: unit, Runs: n,
		Median: (v[(n-1)/2] + v[n/2]) / 2,
		P95:    v[int(math.Ceil(0.95*float64(n)))-1],
		P99:    v[int(math.Ceil(0.99*float64(n)))-1],
		Worst:  v[n-1],
		Low:    v[low], High: v[n-1-low],
	}
}

// Beyond returns the summary with the base taken from each value, as if the base were the same
// in every run.
func (s Summary) Beyond(base float64) Summary {
	for _, v := range []*float64{&s.Median, &s.P95, &s.P99, &s.Worst, &s.Low, &s.High} {
		*v -= base
	}
	return s
}

// Add takes over the figures of other; a name that both have is an error.
func (s Set) Add(other Set) error {
	for name := range other {
		if _, twice := s[name]; twice {
			return fmt.Errorf("two figures are called %q", name)
		}
	}
	maps.Copy(s, other)
	return nil
}

// String is a measured value, to three digits, in the unit that suits its size.
func (u Unit) String(value float64) string {
	scaled, name := u.scale(value)
	places := 2
	switch a := math.Abs(scaled); {
	case u == Count || a == 0 || a >= 99.95:
		places = 0
	case a >= 9.995:
		places = 1
	}
	return strconv.FormatFloat(scaled, 'f', places, 64) + name
}

// Exact is a value that is not measured, with no digit too many.
func (u Unit) Exact(value float64) string {
	scaled, name := u.scale(value)
	return strconv.FormatFloat(scaled, 'f', -1, 64) + name
}

// scale returns the value in the unit that suits its size, and that unit's name after a space.
func (u Unit) scale(value float64) (scaled float64, name string) {
	type step struct {
		size float64
		name string
	}
	steps := map[Unit][]step{
		Nanoseconds: {{1e9, " s"}, {1e6, " ms"}, {1e3, " µs"}, {1, " ns"}},
		Bytes:       {{1 << 20, " MiB"}, {1 << 10, " KiB"}, {1, " B"}},
	}[u]
	for _, s := range steps {
		if math.Abs(value) >= s.size {
			return value / s.size, s.name
		}
	}
	return value, ""
}
