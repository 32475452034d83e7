// SPDX-License-Identifier: Apache-2.0

package dockerd_test

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/dockerd"
)

func TestEvents(t *testing.T) {
	for _, version := range []string{"28", "20.10"} {
		before := time.Now()
		socket := serve(t, func(w http.ResponseWriter, r *http.Request) {
			query := r.URL.Query()
			until := query.Get("until")
			query.Del("until")
			want := map[string][]string{"filters": {`{"event":["a b","c\u0026d"],"type":["container"]}`}}
			if diff := cmp.Diff(want, map[string][]string(query)); diff != "" || r.URL.Path != "/events" {
				t.Errorf("asked for %s: %s", r.URL, diff)
			}
			seconds, err := strconv.ParseFloat(until, 64)
			if at := time.UnixMicro(int64(seconds * 1e6)); err != nil || at.Before(before.Add(-time.Millisecond)) || at.After(time.Now().Add(time.Millisecond)) {
				t.Errorf("until %s, which is not now", until)
			}
			w.Write(answer(t, version+"-events.json"))
		})
		events, err := dockerd.Daemon{Socket: socket}.Events(t.Context(), map[string][]string{"type": {"container"}, "event": {"a b", "c&d"}})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range events {
			if len(e.Actor.ID) != 64 {
				t.Errorf("actor %q", e.Actor.ID)
			}
			got = append(got, e.Action+" "+e.Actor.Attributes["metax-tech.com/lease"])
		}
		if diff := cmp.Diff([]string{"kill aaaa", "die aaaa", "destroy aaaa"}, got); diff != "" {
			t.Errorf("%s: %s", version, diff)
		}
	}
}

func TestEventsTrouble(t *testing.T) {
	const whole = `{"Action":"die","Actor":{"ID":"a"}}` + "\n"
	for text, want := range map[string]int{"": 0, whole: 1, whole + whole: 2, whole + "{": -1, whole + whole[:20]: -1, "[" + whole + "]": -1, "<html>": -1} {
		socket := say(t, "HTTP/1.0 200 OK\r\n\r\n"+text, false)
		got, err := dockerd.Daemon{Socket: socket}.Events(t.Context(), nil)
		if (err != nil) != (want < 0) || len(got) != max(want, 0) || err != nil && !strings.Contains(err.Error(), socket) {
			t.Errorf("%q is %v, %v; want %d", text, got, err, want)
		}
	}
	// Between two events an answer that goes on looks like one that has ended.
	socket := say(t, "HTTP/1.0 200 OK\r\n\r\n"+whole, true)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if got, err := (dockerd.Daemon{Socket: socket}).Events(ctx, nil); err == nil || got != nil {
		t.Errorf("got %v, %v", got, err)
	}
}
