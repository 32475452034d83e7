// SPDX-License-Identifier: Apache-2.0

package dockerd_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/dockerd"
)

func TestCreate(t *testing.T) {
	var body map[string]any
	socket := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if want := "POST /containers/create?name=a%26b&platform=linux%2Farm64"; r.Method+" "+r.RequestURI != want {
			t.Errorf("asked for %s %s, want %s", r.Method, r.RequestURI, want)
		}
		if kind := r.Header.Get("Content-Type"); kind != "application/json" {
			t.Errorf("sent as %q", kind)
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		w.WriteHeader(http.StatusCreated)
		io.WriteString(w, `{"Id":"c0ffee"}`)
	})
	got, err := dockerd.Daemon{Socket: socket}.Create(t.Context(), dockerd.Draft{
		Name: "a&b", Image: "sha256:aa", Platform: "linux/arm64", Labels: map[string]string{"l": "1"}, Covered: []string{"/b", "/a"},
	})
	if err != nil || got.ID != "c0ffee" {
		t.Fatal(got, err)
	}
	tmpfs := func(dir string) any { return map[string]any{"Type": "tmpfs", "Target": dir} }
	want := map[string]any{
		"Image": "sha256:aa", "Labels": map[string]any{"l": "1"}, "Entrypoint": []any{"/never-started"}, "Cmd": []any{}, "NetworkDisabled": true,
		"HostConfig": map[string]any{"NetworkMode": "none", "LogConfig": map[string]any{"Type": "none"}, "Mounts": []any{tmpfs("/a"), tmpfs("/b")}},
	}
	if diff := cmp.Diff(want, body); diff != "" {
		t.Error(diff)
	}
}

func TestCreateTrouble(t *testing.T) {
	for name, tc := range map[string]struct {
		status int
		text   string
		is     error
	}{
		"no image":  {404, `{"message":"No such image: x"}`, dockerd.ErrNotFound},
		"taken":     {409, `{"message":"Conflict. The container name \"/n\" is already in use"}`, dockerd.ErrExists},
		"refused":   {400, `{"message":"no"}`, nil},
		"another":   {200, `{"Id":"a"}`, nil},
		"no ID":     {201, `{}`, nil},
		"no answer": {201, `{"Id"`, nil},
	} {
		socket := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(tc.status)
			io.WriteString(w, tc.text)
		})
		got, err := dockerd.Daemon{Socket: socket}.Create(t.Context(), dockerd.Draft{Name: "n", Image: "x"})
		if err == nil || got != (dockerd.Made{}) || tc.is != nil && !errors.Is(err, tc.is) || !strings.Contains(err.Error(), socket) {
			t.Errorf("%s: %v, %v; want %v", name, got, err, tc.is)
		}
		if status := (*dockerd.StatusError)(nil); name == "refused" && (!errors.As(err, &status) || status.Status != 400 || status.Message != "no") {
			t.Errorf("%s: %#v", name, status)
		}
	}
}

// TestRemove: a removal never stops a running container.
func TestRemove(t *testing.T) {
	for status, want := range map[int]error{204: nil, 404: dockerd.ErrNotFound, 409: errors.ErrUnsupported} {
		socket := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if want := "DELETE /containers/a%2Fb?v=1&force=0"; r.Method+" "+r.RequestURI != want {
				t.Errorf("asked for %s %s, want %s", r.Method, r.RequestURI, want)
			}
			w.WriteHeader(status)
		})
		err := dockerd.Daemon{Socket: socket}.Remove(t.Context(), "/a/b")
		if (err == nil) != (want == nil) || errors.Is(want, dockerd.ErrNotFound) != errors.Is(err, dockerd.ErrNotFound) {
			t.Errorf("status %d: %v", status, err)
		}
	}
}

func TestLabelled(t *testing.T) {
	list, err := replay(t, "/containers/json?all=1&filters=%7B%22label%22%3A%5B%22metax-tech.com%2Flease%22%5D%7D", answer(t, "28-list.json")).Labelled(t.Context(), "metax-tech.com/lease")
	if err != nil || len(list) != 3 {
		t.Errorf("%d containers, %v", len(list), err)
	}
}
