// SPDX-License-Identifier: Apache-2.0

package dockerd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"time"
)

// Event is an event of a container or another object of the daemon.
type Event struct {
	Action string // "create", "start", "die", "destroy", …
	Actor  struct {
		ID string
		// Attributes of a container are its labels and some more.
		Attributes map[string]string
	}
}

// Events returns the events until now, oldest first, that the daemon remembers: some
// hundred of all kinds, none from before its start. The filters are docker's, such as
// "type": "container". The values of one filter are alternatives, except that all
// labels must match.
func (d Daemon) Events(ctx context.Context, filters map[string][]string) ([]Event, error) {
	text, err := json.Marshal(filters)
	if err != nil {
		return nil, fmt.Errorf("write event filters: %w", err)
	}
	// Without an end in the past the response would not end.
	_, body, err := d.Get(ctx, "/events?until="+timestamp(time.Now())+"&filters="+url.QueryEscape(string(text)))
	if err != nil {
		return nil, err
	}
	events, err := decodeEvents(body)
	if err != nil {
		return nil, fmt.Errorf("read the events of the docker daemon at %s: %w", d.Socket, err)
	}
	return events, nil
}

// timestamp is a time in docker's form: seconds since 1970, and nine digits.
func timestamp(t time.Time) string { return fmt.Sprintf("%d.%09d", t.Unix(), t.Nanosecond()) }

// decodeEvents parses a sequence of JSON objects.
func decodeEvents(body []byte) ([]Event, error) {
	var events []Event
	for dec := json.NewDecoder(bytes.NewReader(body)); ; {
		var e Event
		err := dec.Decode(&e)
		switch {
		case errors.Is(err, io.EOF):
			return events, nil
		case err != nil:
			return nil, err
		}
		events = append(events, e)
	}
}
