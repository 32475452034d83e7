// SPDX-License-Identifier: Apache-2.0

package docker_test

import (
	"io"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/holders"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// destroyed is the event of a container's end.
func destroyed(id, lease string) object {
	return object{
		"status": "destroy", "id": id, "Type": "container", "Action": "destroy",
		"Actor": object{"ID": id, "Attributes": object{"image": "maca:3", "name": "x", usage.LeaseLabel: lease}},
	}
}

func TestLookOver(t *testing.T) {
	d := &daemon{
		containers: []made{
			{id("1"), "kept", "exited", map[string]string{usage.LeaseLabel: "again"}, object{}, false},
			{id("2"), "bound", "exited", nil, object{}, false},
		},
		events: []object{
			destroyed(id("a"), "gone"), destroyed(id("b"), "again"), destroyed(id("c"), "elsewhere"),
			destroyed(id("d"), "other engine"), destroyed(id("e"), "rebuilt"), destroyed(id("f"), "copied"),
			destroyed(id("2"), ""), destroyed(id("9"), "another's"), destroyed(id("g"), "gone"),
			{"Action": "die", "Actor": object{"ID": id("h"), "Attributes": object{usage.LeaseLabel: "died"}}},
			{"Action": "destroy", "Actor": object{"ID": id("i"), "Attributes": nil}},
		},
	}
	s := serve(t, d, holders.Devices{})
	_, here := s.Name()
	q := usage.Question{Ended: []usage.Lease{
		{ID: "rebuilt"},
		{ID: "gone", Engine: "docker", Endpoint: here},
		{ID: "again", Engine: "docker", Endpoint: here},
		{ID: "elsewhere", Engine: "docker", Endpoint: "/other.sock"},
		{ID: "other engine", Engine: "podman", Endpoint: here},
		{ID: "copied", Engine: "docker", Endpoint: here, Container: id("7")},
		{ID: "bound", Engine: "docker", Endpoint: here, Container: id("2")},
		{ID: "started", Engine: "docker", Endpoint: here, Container: id("9")},
		{ID: "died", Engine: "docker", Endpoint: here},
		{ID: "pending", Engine: "docker", Endpoint: here},
	}}
	sight, err := s.Look(t.Context(), q)
	if err != nil || sight.Partial {
		t.Fatalf("got %v, %v", sight, err)
	}
	if diff := cmp.Diff([]string{"rebuilt", "gone", "started"}, sight.Over); diff != "" {
		t.Error(diff)
	}

	// Nothing is asked where nothing can follow.
	d.reset()
	q.Ended = q.Ended[2:5]
	if sight, err = s.Look(t.Context(), q); err != nil || sight.Over != nil {
		t.Errorf("got %v, %v", sight.Over, err)
	}
	if _, asked := d.reset(); len(asked) != 1 {
		t.Errorf("asked for %q", asked)
	}
}

// Where the events cannot be heard, the containers are still told of, all of them, and no
// lease is over.
func TestLookEventsRefused(t *testing.T) {
	d := &daemon{containers: []made{{id("1"), "a", "running", nil, object{}, false}}}
	s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/events" {
			io.WriteString(w, `{"Action":"destroy","Actor":{"ID":"x","Attributes":{"metax-tech.com/lease":"l1"}}}{"Action"`)
			return
		}
		d.ServeHTTP(w, r)
	}), holders.Devices{})
	sight, err := s.Look(t.Context(), usage.Question{Ended: []usage.Lease{{ID: "l1"}}})
	if err == nil || sight.Partial || sight.Over != nil || len(sight.Containers) != 1 {
		t.Errorf("got %v, %v", sight, err)
	}
}
