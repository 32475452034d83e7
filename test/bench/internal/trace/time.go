package trace

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Time is an instant or a duration in milliseconds. Whole numbers make "at the
// same time" exact.
type Time int64

// The units of ParseTime.
const (
	Millisecond Time = 1
	Second           = 1000 * Millisecond
	Minute           = 60 * Second
	Hour             = 60 * Minute
	Day              = 24 * Hour
)

// maxTime keeps every sum of a trace within an int64. It has room for instants
// that are counted from 1970.
const maxTime = 100_000_000_000 * Second

// ParseTime reads a number of seconds, such as "90" or "0.25", or numbers with
// the units d, h, m, s and ms, such as "1h30m". It rounds to milliseconds. What is
// negative or more than 10^11 seconds is an error.
func ParseTime(s string) (Time, error) {
	bad := func() (Time, error) { return 0, fmt.Errorf("%q: want seconds, or a duration such as 1h30m", s) }
	if v, err := strconv.ParseFloat(s, 64); err == nil && !strings.ContainsAny(s, "xXpP_") {
		t, ok := whole(v, Second)
		if !ok || s[0] == '-' {
			return bad()
		}
		return t, nil
	}
	var sum Time
	for rest := s; ; {
		number := rest[:len(rest)-len(strings.TrimLeft(rest, "0123456789."))]
		rest = rest[len(number):]
		unit := rest[:len(rest)-len(strings.TrimLeft(rest, "dhms"))]
		rest = rest[len(unit):]
		v, err := strconv.ParseFloat(number, 64)
		t, ok := whole(v, units[unit])
		if err != nil || !ok || units[unit] == 0 || sum+t > maxTime {
			return bad()
		}
		if sum += t; rest == "" {
			return sum, nil
		}
	}
}

var units = map[string]Time{"d": Day, "h": Hour, "m": Minute, "s": Second, "ms": Millisecond}

// whole is v units in milliseconds; ok is false for NaN and what is out of
// bounds.
func whole(v float64, unit Time) (t Time, ok bool) {
	ms := math.Round(v * float64(unit))
	if !(ms >= 0 && ms <= float64(maxTime)) { // NaN is neither
		return 0, false
	}
	return Time(ms), true
}

// String is the exact number of seconds, such as "5400" or "0.25".
func (t Time) String() string {
	sign, ms := "", t
	if ms < 0 {
		sign, ms = "-", -ms
	}
	s := fmt.Sprintf("%s%d.%03d", sign, ms/Second, ms%Second)
	return strings.TrimRight(strings.TrimRight(s, "0"), ".")
}

// seconds is for figures, not for the order of events.
func (t Time) seconds() float64 { return float64(t) / float64(Second) }
