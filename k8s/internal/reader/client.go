// SPDX-License-Identifier: Apache-2.0

package reader

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/health"
)

// Client asks a Server.
type Client struct {
	http *http.Client
	// again is the pause after a Server did not answer, and so the least time between two
	// failed looks; least is that between two questions.
	again, least time.Duration
}

// NewClient returns a Client of the Server at the path of a socket. Nothing is asked yet.
func NewClient(socket string) *Client {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", socket)
	}
	return &Client{&http.Client{Transport: &http.Transport{DialContext: dial}}, retryAfter, leastPause}
}

const (
	retryAfter = 5 * time.Second
	leastPause = 100 * time.Millisecond
	// answerTimeout is how long the Client waits for an answer, beyond waitTimeout for a newer
	// Report. It is more than a look can take.
	answerTimeout = 45 * time.Second
)

// errNotNewer reports that there was no newer Report in time.
var errNotNewer = errors.New("no newer report")

// Look returns the first Report that has not the token; with an empty token, the newest. It
// waits for one. Errors are those of the connection, or say what is wrong with the answer.
func (c *Client) Look(ctx context.Context, token string) (Report, error) {
	for {
		text, err := c.fetchAnswer(ctx, "/v1/look?after="+url.QueryEscape(token), waitTimeout+answerTimeout)
		switch {
		case errors.Is(err, errNotNewer):
			sleepContext(ctx, c.least)
			continue
		case err != nil:
			return Report{}, err
		}
		r, err := decodeReport(text)
		if err == nil && r.Token == token {
			err = fmt.Errorf("%w: the report is not newer", errAnswer)
		}
		return r, err
	}
}

// Readings returns what the GPUs measure now. Errors are as those of Look; one is also that
// the GPUs cannot be read.
func (c *Client) Readings(ctx context.Context) (Readings, error) {
	text, err := c.fetchAnswer(ctx, "/v1/readings", answerTimeout)
	if err != nil {
		return Readings{}, err
	}
	return decodeReadings(text)
}

// Watch calls see with each new Report, and returns at the end of the context. As long as
// there is no valid answer, see gets the last Report again and again with a failed look;
// before the first answer, its Node is empty.
func (c *Client) Watch(ctx context.Context, see func(Report)) {
	var last Report
	for ctx.Err() == nil {
		r, err := c.Look(ctx, last.Token)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			last = r
			see(r)
			sleepContext(ctx, c.least)
			continue
		}
		see(Report{
			Token: last.Token, At: last.At, Node: last.Node,
			Look: health.Look{Failed: printableLine("the reader of GPU health does not answer: " + err.Error())},
		})
		sleepContext(ctx, c.again)
	}
}

// sleepContext waits, unless the context ends before.
func sleepContext(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
