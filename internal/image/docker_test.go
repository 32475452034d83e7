// SPDX-License-Identifier: Apache-2.0

package image_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/dockerd"
	"github.com/metax-ctk/container-toolkit/internal/image"
)

const imageID = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// daemon is a docker daemon that fails as a test needs it. The end-to-end tests use
// real ones.
type daemon struct {
	mutex  sync.Mutex
	asked  []string // method and the path's last word
	store  string
	server string
	hangUp bool // instead of an answer to create
	gone   bool // somebody has removed the container
	stuck  bool // it cannot be removed
	label  string
	during func() // while the container is made
}

func (d *daemon) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	word := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
	d.asked = append(d.asked, r.Method+" "+word)
	w.Header().Set("Server", d.server)
	switch {
	case strings.HasPrefix(r.URL.Path, "/images/missing"):
		w.WriteHeader(http.StatusNotFound)
	case strings.HasPrefix(r.URL.Path, "/images/"):
		fmt.Fprintf(w, `{"Id":%q,"Os":"linux","Architecture":"amd64","GraphDriver":{"Name":%q},"Config":{"Env":["A=b"]}}`, imageID, d.store)
	case r.URL.Path == "/containers/json":
		io.WriteString(w, "[]")
	case r.URL.Path == "/containers/create":
		var body struct{ Labels map[string]string }
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			panic(err)
		}
		d.label = body.Labels[image.Label]
		if d.during != nil {
			d.during()
		}
		if d.hangUp {
			panic(http.ErrAbortHandler)
		}
		w.WriteHeader(http.StatusCreated)
		io.WriteString(w, `{"Id":"c0ffee"}`)
	case r.Method == http.MethodDelete && d.stuck:
		w.WriteHeader(http.StatusConflict)
	case d.gone:
		w.WriteHeader(http.StatusNotFound)
	case r.Method == http.MethodDelete:
		w.WriteHeader(http.StatusNoContent)
	case r.URL.Query().Get("path") == "/opt/maca/Version.txt", strings.HasPrefix("/opt/maca", r.URL.Query().Get("path")):
		mode := `2147484141` // a directory
		if strings.HasSuffix(r.URL.Query().Get("path"), ".txt") {
			mode = `420`
		}
		w.Header().Set("X-Docker-Container-Path-Stat", base64.StdEncoding.EncodeToString([]byte(`{"name":"x","size":8,"mode":`+mode+`}`)))
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

func (d *daemon) source(t *testing.T) image.Docker {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "d.sock")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	if d.server == "" {
		d.server = "Docker/28.5.2 (linux)"
	}
	s := &http.Server{Handler: d}
	go s.Serve(l)
	t.Cleanup(func() { s.Close() })
	return image.Docker{Daemon: dockerd.Daemon{Socket: socket, Timeout: 10 * time.Second}}
}

func (d *daemon) wasAsked() []string {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	return d.asked
}

func TestDockerTrouble(t *testing.T) {
	ask := []string{"GET json", "GET json", "POST create"}
	stat := []string{"HEAD archive", "HEAD archive", "HEAD archive"}
	for name, tc := range map[string]struct {
		daemon *daemon
		ref    string
		is     error
		asked  []string
	}{
		"no image":     {&daemon{}, "missing", image.ErrNotFound, []string{"GET json"}},
		"vfs":          {&daemon{store: "vfs"}, "x", image.ErrUninspectable, []string{"GET json"}},
		"unsafe":       {&daemon{server: "Docker/19.03.0 (linux)"}, "x", dockerd.ErrUnsafe, append(append(ask[:3:3], stat...), "DELETE c0ffee")},
		"vanished":     {&daemon{gone: true}, "x", image.ErrVanished, append(ask[:3:3], "HEAD archive", "DELETE c0ffee")},
		"lost answers": {&daemon{hangUp: true, gone: true}, "x", io.ErrUnexpectedEOF, append(ask[:3:3], "DELETE")},
	} {
		t.Run(name, func(t *testing.T) {
			cache := image.Cache{Dir: t.TempDir()}
			got, err := image.Read(t.Context(), tc.daemon.source(t), tc.ref, cache, nil)
			if !errors.Is(err, tc.is) || got.ID != "" {
				t.Errorf("got %+v, %v; want %v", got, err, tc.is)
			}
			asked := tc.daemon.wasAsked()
			if name == "lost answers" { // removed by the name that it would have
				last := asked[len(asked)-1]
				if !strings.HasPrefix(last, "DELETE metax-inspect-0123456789ab-") {
					t.Errorf("asked at last for %s", last)
				}
				asked[len(asked)-1] = "DELETE"
			}
			if diff := cmp.Diff(tc.asked, asked); diff != "" {
				t.Error(diff)
			}
			if len(kept(t, cache)) != 0 {
				t.Errorf("kept %q", kept(t, cache))
			}
		})
	}
}

// Peek asks one question, and opens nothing.
func TestPeek(t *testing.T) {
	cache, d := image.Cache{Dir: t.TempDir()}, &daemon{}
	source := d.source(t)
	got, read, err := image.Peek(t.Context(), source, "x", cache, nil)
	if err != nil || read || got.ID != imageID || !cmp.Equal(got.Env, []string{"A=b"}) {
		t.Errorf("got %+v, %t, %v", got, read, err)
	}
	if diff := cmp.Diff([]string{"GET json"}, d.wasAsked()); diff != "" {
		t.Error(diff)
	}
	if err := cache.Put(image.Key{ID: imageID, Platform: "linux/amd64"}, image.Facts{ID: imageID, Platform: "linux/amd64", MACA: &image.Install{Dir: "/opt/maca-2"}}); err != nil {
		t.Fatal(err)
	}
	if got, read, err = image.Peek(t.Context(), source, "x", cache, nil); err != nil || !read || got.MACA == nil {
		t.Errorf("got %+v, %t, %v", got, read, err)
	}
	if _, _, err = image.Peek(t.Context(), source, "missing", cache, nil); !errors.Is(err, image.ErrNotFound) {
		t.Errorf("got %v", err)
	}
}

func TestMentionsMACA(t *testing.T) {
	for name, tc := range map[string]struct {
		image.Facts
		want bool
	}{
		"nothing":        {image.Facts{Env: []string{"PATH=/bin", "X_MACA_=1"}, Labels: map[string]string{"other": "3"}}, false},
		"its path":       {image.Facts{Env: []string{"PATH=/bin:/opt/maca/bin"}}, true},
		"a variable":     {image.Facts{Env: []string{"MACA_PATH=/x"}}, true},
		"a label":        {image.Facts{Labels: map[string]string{"l": "3"}}, true},
		"an empty label": {image.Facts{Labels: map[string]string{"l": ""}}, false},
	} {
		if got := tc.MentionsMACA([]string{"l"}); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// A failed cleanup is a warning, not an error.
func TestDockerStuck(t *testing.T) {
	cache := image.Cache{Dir: t.TempDir()}
	for _, stuck := range []bool{true, false} { // the second comes out of the cache
		d := &daemon{stuck: stuck, gone: true}
		got, err := image.Read(t.Context(), d.source(t), "x", cache, nil)
		if err != nil || got.ID != imageID {
			t.Fatalf("got %+v, %v", got, err)
		}
		if stuck != (len(got.Warnings) == 1) || stuck && !strings.Contains(got.Warnings[0], "c0ffee") {
			t.Errorf("warnings %q", got.Warnings)
		}
		if diff := cmp.Diff([]string{"A=b"}, got.Env); diff != "" {
			t.Error(diff)
		}
	}
}

// An inspection that is canceled while the container is being created waits for the
// container, to remove it.
func TestDockerCancelled(t *testing.T) {
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	d := &daemon{during: func() { cancel(cause) }}
	got, err := image.Read(ctx, d.source(t), "x", image.Cache{}, nil)
	if !errors.Is(err, cause) || got.ID != "" {
		t.Errorf("got %+v, %v", got, err)
	}
	if diff := cmp.Diff([]string{"GET json", "GET json", "POST create", "DELETE c0ffee"}, d.wasAsked()); diff != "" {
		t.Error(diff)
	}
	// An inspection that was canceled before creates none.
	if o, err := d.source(t).Open(ctx, image.Config{ID: imageID}); !errors.Is(err, cause) || o != nil {
		t.Errorf("got %v, %v", o, err)
	}
	if n := len(d.wasAsked()); n != 4 {
		t.Errorf("asked %q", d.wasAsked())
	}
}

func TestDockerLabel(t *testing.T) {
	d := &daemon{}
	before := time.Now()
	o, err := d.source(t).Open(t.Context(), image.Config{ID: imageID})
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	namespace, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		t.Fatal(err)
	}
	var until int64
	if _, err := fmt.Sscanf(d.label, fmt.Sprintf("pid %d of %s until %%d", os.Getpid(), namespace), &until); err != nil {
		t.Fatalf("label %q: %v", d.label, err)
	}
	if left := time.Unix(until, 0).Sub(before); left < time.Minute || left > 3*time.Minute {
		t.Errorf("label %q is for %s", d.label, left)
	}
}

func TestUnreadable(t *testing.T) {
	n := image.Unreadable{Engine: "nerdctl"}
	_, err := image.Read(t.Context(), n, "x", image.Cache{}, nil)
	_, err2 := n.Open(t.Context(), image.Config{})
	for _, err := range []error{err, err2} {
		if !errors.Is(err, image.ErrUninspectable) || !strings.Contains(err.Error(), "nerdctl") {
			t.Errorf("got %v", err)
		}
	}
}
