// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/usage"
)

func TestErrorTexts(t *testing.T) {
	held := &HeldError{GPU: 3, Holder: usage.Holder{Lease: &usage.Lease{ID: "6f1d2c9a04be"}}}
	for want, err := range map[string]error{
		"cannot get 2 GPUs: all 8 are in use (metax-ctk ps)":                     &FullError{Want: 2, Of: 8},
		"cannot get 1 GPU: the only GPU is in use (metax-ctk ps)":                &FullError{Want: 1, Of: 1},
		"cannot get 4 GPUs: only 1 of 8 is free (metax-ctk ps)":                  &FullError{Want: 4, Free: 1, Of: 8},
		"cannot get 4 GPUs: only 3 of 8 are free (metax-ctk ps)":                 &FullError{Want: 4, Free: 3, Of: 8},
		"gave up after 3s: all 8 GPUs are still in use (metax-ctk ps)":           &WaitError{3 * time.Second, &FullError{Want: 2, Of: 8}},
		"gave up after 1m: only 3 of 8 GPUs are free (metax-ctk ps)":             &WaitError{time.Minute, &FullError{Want: 4, Free: 3, Of: 8}},
		"gave up after 3s: GPU 3 is in use by lease 6f1d2c9a04be (metax-ctk ps)": &WaitError{3 * time.Second, held},
		"a request in the queue goes first (metax-ctk lease list)":               &QueueError{1, true},
		"2 requests in the queue go first (metax-ctk lease list)":                &QueueError{2, true},
		"2 requests that came earlier wait for GPUs (metax-ctk ps)":              &QueueError{2, false},
		"slice s of GPU 3 is in use by lease 6f1d2c9a04be (metax-ctk ps)":        &HeldError{GPU: 3, Slice: "s", Holder: held.Holder},
	} {
		if diff := cmp.Diff(want, err.Error()); diff != "" {
			t.Error(diff)
		}
	}
}
