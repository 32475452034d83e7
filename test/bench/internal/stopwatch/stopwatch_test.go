// SPDX-License-Identifier: Apache-2.0

package stopwatch

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestTimeTakesTurns(t *testing.T) {
	var order []string
	note := func(name string) Case {
		return Case{
			Name:    name,
			Prepare: func() error { order = append(order, "p"+name); return nil },
			Run:     func() (int64, error) { order = append(order, name); return 5, nil },
		}
	}
	readings, err := Time(2, note("a"), note("b"))
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.Fields("pa a pb b pb b pa a pa a pb b"); !slices.Equal(want, order) {
		t.Errorf("order %v, want %v", order, want)
	}
	if s := readings.Memory("b"); s.Runs != 2 || s.Median != 5 {
		t.Errorf("the warm-up counts, or the memory is lost: %+v", s)
	}
}

func TestAdded(t *testing.T) {
	r := Readings{"with": {{Wall: 5}, {Wall: 9}, {Wall: 20}}, "without": {{Wall: 4}, {Wall: 7}, {Wall: 1}}}
	if s := r.Added("with", "without"); s.Median != 2 || s.P95 != 19 {
		t.Errorf("got %+v, want the median of 1, 2 and 19", s)
	}
}

func TestTimeStopsAtAFailure(t *testing.T) {
	broken := errors.New("broken")
	for name, c := range map[string]Case{
		"prepare": {Name: "x", Prepare: func() error { return broken }},
		"run":     {Name: "x", Run: func() (int64, error) { return 0, broken }},
		"process": Process("x", nil, "/nowhere/at/all"),
	} {
		if _, err := Time(1, c); err == nil || !strings.Contains(err.Error(), `"x"`) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// TestTable: least, lower quartile and median, of the time and of the processor time.
func TestTable(t *testing.T) {
	var r Readings
	for _, n := range []time.Duration{9, 5, 1, 3, 7} {
		r = Readings{"x": append(r["x"], Reading{Wall: n * time.Millisecond, CPU: n * time.Microsecond})}
	}
	_, line, _ := strings.Cut(r.Table(), "\n")
	if want := strings.Fields("x 1.00 ms 3.00 ms 5.00 ms 1.00 µs 3.00 µs 5.00 µs"); !slices.Equal(strings.Fields(line), want) {
		t.Errorf("got %q, want %q", line, want)
	}
}

// TestCPU: the processor time is that of a child that worked, and none of this process.
func TestCPU(t *testing.T) {
	r, err := Time(1, Process("works", nil, "sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"),
		Case{Name: "none", Run: func() (int64, error) { return 0, nil }})
	if err != nil {
		t.Fatal(err)
	}
	if works, none := r["works"][0].CPU, r["none"][0].CPU; works == 0 || none != 0 {
		t.Errorf("a child took %s, none took %s", works, none)
	}
}
