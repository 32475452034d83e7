package main

import (
	"testing"
	"time"
)

func TestInitTime(t *testing.T) {
	const trace = `init runtime @0.056 ms, 0.050 ms clock, 0 bytes, 0 allocs
docker run --device=/dev/dri/card1 IMAGE
init net @1.2 ms, 1.25 ms clock, 1768 bytes, 23 allocs
`
	if got, err := initTime(trace); err != nil || got != 1300*time.Microsecond {
		t.Errorf("got %v, %v, want 1.3ms", got, err)
	}
	if got, err := initTime("docker run IMAGE\n"); err == nil {
		t.Errorf("a text without a trace gives %v", got)
	}
}
