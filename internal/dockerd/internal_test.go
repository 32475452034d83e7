// SPDX-License-Identifier: Apache-2.0

package dockerd

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestDeadlineConn: the time limit is for each read, not for the whole response.
func TestDeadlineConn(t *testing.T) {
	for silence, want := range map[time.Duration]error{9 * time.Second: nil, 11 * time.Second: os.ErrDeadlineExceeded} {
		synctest.Test(t, func(t *testing.T) {
			near, far := net.Pipe()
			var other sync.WaitGroup
			defer other.Wait()
			defer near.Close()
			other.Go(func() {
				for range 5 {
					time.Sleep(silence)
					far.Write([]byte("x"))
				}
				far.Close()
			})
			got, err := io.ReadAll(deadlineConn{near, 10 * time.Second})
			if !errors.Is(err, want) || want == nil && string(got) != "xxxxx" {
				t.Errorf("silences of %s: %q, %v; want %v", silence, got, err, want)
			}
		})
	}
}

func TestTimestamp(t *testing.T) {
	if got := timestamp(time.Unix(1795265700, 42)); got != "1795265700.000000042" {
		t.Errorf("got %s", got)
	}
}
