// SPDX-License-Identifier: Apache-2.0

package dockerd_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/dockerd"
)

func TestGet(t *testing.T) {
	socket := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Api-Version", "1.51")
		io.WriteString(w, r.Proto+" "+r.Method+" "+r.URL.String())
		w.(http.Flusher).Flush() // a long answer has no length either
	})
	header, body, err := dockerd.Daemon{Socket: socket}.Get(t.Context(), "/info?x=%7B")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("HTTP/1.1 GET /info?x=%7B", string(body)); diff != "" {
		t.Error(diff)
	}
	if y, ok := header.APIVersion(); y != 51 || !ok {
		t.Errorf("API version 1.%d, %t", y, ok)
	}
}

func TestAPIVersion(t *testing.T) {
	for version, want := range map[string]int{"1.51": 51, "1.0": 0, "": -1, "2.0": -1, "1.": -1, "1.x": -1, "1.-1": -1, "1.99999999": -1} {
		socket := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/_ping" {
				t.Errorf("asked for %s", r.URL)
			}
			w.Header().Set("Api-Version", version)
		})
		got, err := dockerd.Daemon{Socket: socket}.APIVersion(t.Context())
		if (err != nil) != (want < 0) || err == nil && got != want {
			t.Errorf("%q is %d, %v; want %d", version, got, err, want)
		}
	}
}

// TestGetTrouble: a daemon that ends, hangs or speaks another protocol never leads to a
// partial response.
func TestGetTrouble(t *testing.T) {
	const (
		ok     = "HTTP/1.0 200 OK\r\n"
		chunks = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
	)
	for name, tc := range map[string]struct {
		text string
		is   error
		says string
	}{
		"nothing":        {"", io.ErrUnexpectedEOF, "closed the connection"},
		"half a header":  {ok + "Api-Vers", nil, "Api-Vers"},
		"short body":     {ok + "Content-Length: 3\r\n\r\n[]", io.ErrUnexpectedEOF, "closed the connection"},
		"no length":      {ok + "Content-Length: x\r\n\r\n[]", nil, "bad Content-Length"},
		"two lengths":    {ok + "Content-Length: 1\r\nContent-Length: 2\r\n\r\n[]", nil, "Content-Length"},
		"half a chunk":   {chunks + "3\r\n[]", io.ErrUnexpectedEOF, "closed the connection"},
		"half of chunks": {chunks + "2\r\n[]\r\n", io.ErrUnexpectedEOF, "closed the connection"},
		"no chunk":       {chunks + "x\r\n[]\r\n", nil, "chunk"},
		"a long header":  {ok + "X: " + strings.Repeat("x", 64<<20), nil, "longer than 64 MiB"},
		"not HTTP":       {"SSH-2.0-x 200\r\n\r\n", nil, "SSH-2.0"},
		"no status":      {"HTTP/1.0\r\n\r\n", nil, "HTTP/1.0"},
		"another status": {"HTTP/1.0 403 Forbidden\r\n\r\n", nil, "403 Forbidden"},
		"a redirect":     {"HTTP/1.0 301 Moved\r\nLocation: http://example.com/\r\n\r\n", nil, "301 Moved"},
		"another talk":   {"HTTP/1.1 101 Switching Protocols\r\n\r\n[]", nil, "101"},
		"another later":  {"HTTP/1.1 100 Continue\r\n\r\n" + ok + "\r\n[]", nil, "100 Continue"},
		"with a message": {"HTTP/1.0 500 x\r\n\r\n" + `{"message":"no space"}`, nil, "no space"},
		"not found":      {"HTTP/1.0 404 x\r\n\r\n" + `{"message":"No such container: x"}`, dockerd.ErrNotFound, "No such"},
	} {
		t.Run(name, func(t *testing.T) {
			socket := say(t, tc.text, false)
			_, body, err := dockerd.Daemon{Socket: socket}.Get(t.Context(), "/x")
			fails(t, body, err, tc.is, socket, tc.says)
		})
	}
}

// fails checks for an error and no answer beside it.
func fails(t *testing.T, body []byte, err, is error, says ...string) {
	t.Helper()
	if err == nil || body != nil || is != nil && !errors.Is(err, is) {
		t.Fatalf("got %q, %v; want error %v", body, err, is)
	}
	for _, s := range says {
		if !strings.Contains(err.Error(), s) {
			t.Errorf("%q does not say %q", err, s)
		}
	}
}

func TestGetTooLong(t *testing.T) {
	socket := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		for block := make([]byte, 1<<20); ; {
			if _, err := w.Write(block); err != nil {
				return
			}
		}
	})
	_, body, err := dockerd.Daemon{Socket: socket}.Get(t.Context(), "/x")
	fails(t, body, err, nil, socket, "longer than 64 MiB")
}

// TestGetSilence: a part of a response does not count when the daemon falls silent,
// even if it looks complete.
func TestGetSilence(t *testing.T) {
	for _, text := range []string{"", "HTTP/1.0 200 OK\r\n", "HTTP/1.0 200 OK\r\n\r\n[]", "HTTP/1.0 404 x\r\n\r\n"} {
		socket := say(t, text, true)
		_, body, err := dockerd.Daemon{Socket: socket, Timeout: 10 * time.Millisecond}.Get(t.Context(), "/x")
		fails(t, body, err, os.ErrDeadlineExceeded, socket, "silent for 10ms")

		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		_, body, err = dockerd.Daemon{Socket: socket}.Get(ctx, "/x")
		cancel()
		fails(t, body, err, context.DeadlineExceeded, socket)
	}
}

// TestGetEndless: the context ends a response without an end.
func TestGetEndless(t *testing.T) {
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	socket := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		for sent := 0; ; sent++ {
			if _, err := io.WriteString(w, "[]\n"); err != nil {
				return
			}
			w.(http.Flusher).Flush()
			if sent == 3 {
				cancel(cause)
			}
		}
	})
	_, body, err := dockerd.Daemon{Socket: socket, Timeout: time.Minute}.Get(ctx, "/x")
	fails(t, body, err, cause, socket)
	_, body, err = dockerd.Daemon{Socket: socket}.Get(ctx, "/x")
	fails(t, body, err, cause, socket)
}

func TestGetNobody(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "none.sock")
	_, body, err := dockerd.Daemon{Socket: missing}.Get(t.Context(), "/x")
	fails(t, body, err, fs.ErrNotExist, missing)

	l, left := listen(t)
	l.SetUnlinkOnClose(false)
	l.Close()
	_, body, err = dockerd.Daemon{Socket: left}.Get(t.Context(), "/x")
	fails(t, body, err, syscall.ECONNREFUSED, left)
}

func TestGetDenied(t *testing.T) {
	_, socket := listen(t)
	if err := os.Chmod(socket, 0); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if os.Geteuid() == 0 {
			// Root may do all; this thread becomes nobody, and ends with the goroutine.
			runtime.LockOSThread()
			if err := unix.Setfsuid(65534); err != nil {
				t.Error(err)
				return
			}
		}
		if _, _, err := (dockerd.Daemon{Socket: socket}).Get(t.Context(), "/x"); !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), socket) {
			t.Errorf("got %v", err)
		}
	}()
	<-done
}

// FuzzGet: an accepted response has the length that it declares, and an error comes
// without one.
func FuzzGet(f *testing.F) {
	for _, seed := range []string{
		"HTTP/1.0 200 OK\r\nApi-Version: 1.51\r\nContent-Length: 2\r\n\r\nOK",
		"HTTP/1.0 404 Not Found\r\n\r\n{\"message\":\"no\"}",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n[]\r\n0\r\n\r\n",
		"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", "\r\n\r\n", "HTTP/1.0 200\r\n\r\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		header, body, err := dockerd.Daemon{Socket: say(t, string(text), false)}.Get(t.Context(), "/x")
		if err != nil {
			if body != nil || header.Header != nil {
				t.Errorf("%q and %q beside %v", header, body, err)
			}
			return
		}
		if length := header.Get("Content-Length"); length != "" && length != strconv.Itoa(len(body)) {
			t.Errorf("%d bytes of %s", len(body), length)
		}
		if y, ok := header.APIVersion(); y < 0 || !ok && y != 0 {
			t.Errorf("API version 1.%d", y)
		}
	})
}
