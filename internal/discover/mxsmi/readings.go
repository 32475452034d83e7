// SPDX-License-Identifier: Apache-2.0

package mxsmi

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// readingQueries are the queries of Readings. Each is run by itself: it is not known
// whether all versions take several at once.
var readingQueries = []string{"--show-usage", "--show-memory", "--show-temperature", "--show-board-power"}

// Readings runs the queries for what each GPU measures now, and returns it in the order of
// addresses. mx-smi does not report links in this way. A query that fails leaves its values
// out; Readings fails only if all do.
func (r Reader) Readings(ctx context.Context) ([]gpu.Reading, error) {
	ctx, cancel := r.withTimeout(ctx)
	defer cancel()
	q := query{ctx: ctx, reader: r}
	var sections []Section
	var failed error
	for _, arg := range readingQueries {
		log, err := q.querySections(arg)
		failed = cmp.Or(failed, err)
		sections = append(sections, log.Sections...)
	}
	if len(sections) == 0 && failed != nil {
		return nil, fmt.Errorf("read GPUs: %w", failed)
	}
	return readings(sections), nil
}

// readings merges the sections of each GPU.
func readings(sections []Section) []gpu.Reading {
	at := map[gpu.BDF]int{}
	var out []gpu.Reading
	for _, s := range sections {
		i, ok := at[s.BDF]
		if !ok {
			i = len(out)
			at[s.BDF] = i
			out = append(out, gpu.Reading{BDF: s.BDF})
		}
		s.read(&out[i])
	}
	slices.SortFunc(out, func(a, b gpu.Reading) int { return a.BDF.Compare(b.BDF) })
	return out
}

// read adds what the section measures. Lines with other keys, and values without the
// expected unit, are left out:
//
//	GPU              : 12 %
//	hotspot          : 41.50 C
//	Total            : 57.10 W
//	vram used        : 846264 KB
func (s Section) read(r *gpu.Reading) {
	for _, e := range s.Entries {
		key := strings.ToLower(e.Key)
		switch {
		case key == "gpu":
			set(&r.UtilizationPercent, e.Value, "%", 0, 100)
		case strings.HasPrefix(key, "hotspot"):
			set(&r.TemperatureC, e.Value, "c", -100, 300)
		case key == "total" || key == "total power":
			set(&r.PowerW, e.Value, "w", 0, 100_000)
		}
	}
	for into, keys := range map[**int][]string{
		&r.MemoryUsedMiB:  {"vram used", "vis_vram used"},
		&r.MemoryTotalMiB: {"vram total", "vis_vram total"},
	} {
		for _, key := range keys {
			value, ok := s.Value(key)
			mib, err := parseMiB(value)
			if ok && err == nil && *into == nil {
				*into = &mib
			}
		}
	}
}

// set sets a value to a number with a unit, rounded, unless it has one already or the
// number is out of range.
func set(into **int, value, unit string, least, most float64) {
	digits, ok := strings.CutSuffix(strings.ToLower(strings.TrimSpace(value)), unit)
	f, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
	if !ok || err != nil || !(f >= least && f <= most) || *into != nil {
		return
	}
	n := int(math.Round(f))
	*into = &n
}
