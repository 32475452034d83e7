// SPDX-License-Identifier: Apache-2.0

package figure

import "testing"

func TestSummarise(t *testing.T) {
	hundred := make([]float64, 100)
	for i := range hundred {
		hundred[i] = float64(100 - i)
	}
	for name, tc := range map[string]struct {
		values []float64
		want   Summary
	}{
		"one":     {[]float64{7}, Summary{Nanoseconds, 1, 7, 7, 7, 7, 7, 7}},
		"two":     {[]float64{4, 2}, Summary{Nanoseconds, 2, 3, 4, 4, 4, 2, 4}},
		"three":   {[]float64{9, 1, 2}, Summary{Nanoseconds, 3, 2, 9, 9, 9, 1, 9}},
		"hundred": {hundred, Summary{Nanoseconds, 100, 50.5, 95, 99, 100, 41, 60}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Summarise(Nanoseconds, tc.values); got != tc.want {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
		})
	}
}

func TestSetAdd(t *testing.T) {
	s := Set{"a": {Runs: 1}}
	if err := s.Add(Set{"b": {Runs: 2}}); err != nil || len(s) != 2 {
		t.Errorf("got %v, %v", s, err)
	}
	if err := s.Add(Set{"b": {}}); err == nil || s["b"].Runs != 2 {
		t.Errorf("a name twice: got %v, %v", s, err)
	}
}

func TestUnitString(t *testing.T) {
	for _, tc := range []struct {
		unit  Unit
		value float64
		want  string
	}{
		{Nanoseconds, 0, "0"},
		{Nanoseconds, 34.56, "34.6 ns"},
		{Nanoseconds, 1234, "1.23 µs"},
		{Nanoseconds, 9.996e6, "10.0 ms"},
		{Nanoseconds, 3e3, "3.00 µs"},
		{Nanoseconds, -2.5e6, "-2.50 ms"},
		{Nanoseconds, 312.4e6, "312 ms"},
		{Nanoseconds, 1.5e9, "1.50 s"},
		{Bytes, 30 << 20, "30.0 MiB"},
		{Bytes, 5.5 * (1 << 20), "5.50 MiB"},
		{Bytes, 2.5 * 1024, "2.50 KiB"},
		{Count, 117, "117"},
		{Count, 0, "0"},
	} {
		if got := tc.unit.String(tc.value); got != tc.want {
			t.Errorf("%v %s: got %q, want %q", tc.value, tc.unit, got, tc.want)
		}
	}
}

func TestUnitExact(t *testing.T) {
	for _, tc := range []struct {
		unit  Unit
		value float64
		want  string
	}{
		{Nanoseconds, 10e6, "10 ms"},
		{Nanoseconds, 2.5e6, "2.5 ms"},
		{Bytes, 30 << 20, "30 MiB"},
		{Count, 0, "0"},
	} {
		if got := tc.unit.Exact(tc.value); got != tc.want {
			t.Errorf("%v %s: got %q, want %q", tc.value, tc.unit, got, tc.want)
		}
	}
}
