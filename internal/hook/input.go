package hook

import (
	"errors"
	"fmt"
	"io"
	"time"
)

var (
	// ErrTooLarge reports an input beyond its limit.
	ErrTooLarge = errors.New("more than a runtime sends")
	// ErrNoEnd reports an input whose end did not come in time.
	ErrNoEnd = errors.New("the end of the input does not come")
)

// ReadInput reads what the runtime writes to our standard input: at most limit
// bytes, and all of it within the given time. After an error, a read may be
// under way still; the process is to end.
func ReadInput(in io.Reader, limit int64, within time.Duration) ([]byte, error) {
	type result struct {
		data []byte
		err  error
	}
	done := make(chan result, 1)
	go func() {
		data, err := io.ReadAll(io.LimitReader(in, limit+1))
		done <- result{data, err}
	}()
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case r := <-done:
		switch {
		case r.err != nil:
			return nil, fmt.Errorf("read standard input: %w", r.err)
		case int64(len(r.data)) > limit:
			return nil, fmt.Errorf("read standard input: %w: over %d bytes", ErrTooLarge, limit)
		}
		return r.data, nil
	case <-timer.C:
		return nil, fmt.Errorf("read standard input: %w within %v", ErrNoEnd, within)
	}
}
