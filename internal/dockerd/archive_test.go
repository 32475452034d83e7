// SPDX-License-Identifier: Apache-2.0

package dockerd_test

import (
	"archive/tar"
	"bytes"
	"encoding/base64"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/dockerd"
)

const server = "Docker/28.5.2 (linux)"

// made is a container of a daemon that answers as the function does.
func made(t *testing.T, server string, h http.HandlerFunc) dockerd.Made {
	t.Helper()
	socket := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Server", server)
		if r.Method == http.MethodPost {
			w.WriteHeader(http.StatusCreated)
			io.WriteString(w, `{"Id":"c0ffee","Warnings":[]}`)
			return
		}
		h(w, r)
	})
	m, err := dockerd.Daemon{Socket: socket}.Create(t.Context(), dockerd.Draft{Name: "n", Image: "i"})
	if err != nil || m.ID != "c0ffee" {
		t.Fatal(m, err)
	}
	return m
}

func TestStat(t *testing.T) {
	m := made(t, server, func(w http.ResponseWriter, r *http.Request) {
		if want := "HEAD /containers/c0ffee/archive?path=%2Fopt%2Fa+b"; r.Method+" "+r.RequestURI != want {
			t.Errorf("asked for %s %s, want %s", r.Method, r.RequestURI, want)
		}
		// As Docker 28 says it, with the length that it gives the answer to GET.
		w.Header().Set("Content-Length", "5120")
		w.Header().Set("X-Docker-Container-Path-Stat", base64.StdEncoding.EncodeToString([]byte(
			`{"name":"maca","size":8,"mode":134218239,"mtime":"1970-01-01T00:00:00Z","linkTarget":"/opt/maca-2.0"}`)))
	})
	got, err := m.Stat(t.Context(), "/opt/a b")
	if err != nil {
		t.Fatal(err)
	}
	want := dockerd.PathStat{Name: "maca", Size: 8, Mode: fs.ModeSymlink | 0o777, LinkTarget: "/opt/maca-2.0"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestStatTrouble has the messages of Docker 28 and 20.10.
func TestStatTrouble(t *testing.T) {
	header := "X-Docker-Container-Path-Stat"
	for name, tc := range map[string]struct {
		status int
		text   string
		stat   string
		is     error
	}{
		"nothing":  {404, `{"message":"Could not find the file /x in container c"}`, "", dockerd.ErrNotFound},
		"circle":   {500, `{"message":"evalSymlinksInScope: too many links in /opt/loop"}`, "", syscall.ELOOP},
		"circle 2": {500, `{"message":"lstat /opt/loop/x: too many levels of symbolic links"}`, "", syscall.ELOOP},
		"file":     {500, `{"message":"lstat /opt/f/x: not a directory"}`, "", syscall.ENOTDIR},
		"other":    {500, `{"message":"no space"}`, "", nil},
		"no field": {200, "", "", nil},
		"no code":  {200, "", "!", nil},
		"no JSON":  {200, "", base64.StdEncoding.EncodeToString([]byte(`{"name":`)), nil},
		"no name":  {200, "", base64.StdEncoding.EncodeToString([]byte(`{"size":1}`)), nil},
	} {
		t.Run(name, func(t *testing.T) {
			m := made(t, server, func(w http.ResponseWriter, _ *http.Request) {
				if tc.stat != "" {
					w.Header().Set(header, tc.stat)
				}
				w.WriteHeader(tc.status)
				io.WriteString(w, tc.text) // which net/http leaves out for HEAD
			})
			got, err := m.Stat(t.Context(), "/x")
			if err == nil || tc.is != nil && !errors.Is(err, tc.is) || got != (dockerd.PathStat{}) {
				t.Errorf("got %v, %v; want %v", got, err, tc.is)
			}
			if name == "other" && !strings.Contains(err.Error(), "no space") {
				t.Errorf("%v does not say why", err)
			}
		})
	}
}

func pack(t *testing.T, headers ...tar.Header) []byte {
	t.Helper()
	var text bytes.Buffer
	w := tar.NewWriter(&text)
	for _, h := range headers {
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(bytes.Repeat([]byte("x"), int(h.Size))); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return text.Bytes()
}

func TestFile(t *testing.T) {
	file := tar.Header{Typeflag: tar.TypeReg, Name: "f", Size: 1000, Mode: 0o600}
	whole := pack(t, file)
	for name, tc := range map[string]struct {
		text []byte
		max  int64
		is   error
	}{
		"file":          {whole, 1000, nil},
		"larger":        {whole, 999, dockerd.ErrTooLarge},
		"huge":          {pack(t, tar.Header{Typeflag: tar.TypeReg, Name: "f", Size: 1 << 20}), 1000, dockerd.ErrTooLarge},
		"empty":         {pack(t, tar.Header{Typeflag: tar.TypeReg, Name: "f"}), 1000, nil},
		"directory":     {pack(t, tar.Header{Typeflag: tar.TypeDir, Name: "f/"}, file), 1000, dockerd.ErrNotRegular},
		"link":          {pack(t, tar.Header{Typeflag: tar.TypeSymlink, Name: "f", Linkname: "/etc/shadow"}), 1000, dockerd.ErrNotRegular},
		"hard link":     {pack(t, tar.Header{Typeflag: tar.TypeLink, Name: "f", Linkname: "g"}), 1000, dockerd.ErrNotRegular},
		"pipe":          {pack(t, tar.Header{Typeflag: tar.TypeFifo, Name: "f"}), 1000, dockerd.ErrNotRegular},
		"device":        {pack(t, tar.Header{Typeflag: tar.TypeChar, Name: "f", Devmajor: 1}), 1000, dockerd.ErrNotRegular},
		"two":           {pack(t, file, file), 1000, dockerd.ErrNotRegular},
		"no archive":    {[]byte("no"), 1000, io.ErrUnexpectedEOF},
		"nothing":       {nil, 1000, io.ErrUnexpectedEOF},
		"nothing in it": {make([]byte, 1024), 1000, io.ErrUnexpectedEOF},
		"half":          {whole[:700], 1000, io.ErrUnexpectedEOF},
	} {
		t.Run(name, func(t *testing.T) {
			m := made(t, server, func(w http.ResponseWriter, r *http.Request) {
				if want := "GET /containers/c0ffee/archive?path=%2Ff"; r.Method+" "+r.RequestURI != want {
					t.Errorf("asked for %s %s, want %s", r.Method, r.RequestURI, want)
				}
				w.Write(tc.text)
			})
			got, err := m.File(t.Context(), "/f", tc.max)
			if !errors.Is(err, tc.is) || (err != nil) != (tc.is != nil) || err != nil && got != nil {
				t.Fatalf("got %d bytes, %v; want %v", len(got), err, tc.is)
			}
			if name == "file" && string(got) != strings.Repeat("x", 1000) {
				t.Errorf("got %q", got)
			}
		})
	}
}

// TestFileEarly: of a file that is too large, or a large directory, only the beginning
// is read.
func TestFileEarly(t *testing.T) {
	for name, kind := range map[string]byte{"file": tar.TypeReg, "directory": tar.TypeDir} {
		ended := make(chan int64, 1)
		m := made(t, server, func(w http.ResponseWriter, _ *http.Request) {
			var sent int64
			defer func() { ended <- sent }()
			header := tar.Header{Typeflag: kind, Name: "f"}
			if kind == tar.TypeReg {
				header.Size = 1 << 40
			}
			if err := tar.NewWriter(w).WriteHeader(&header); err != nil {
				return
			}
			for block := make([]byte, 1<<16); sent < 1<<30; sent += int64(len(block)) {
				if _, err := w.Write(block); err != nil {
					return
				}
			}
		})
		if got, err := m.File(t.Context(), "/f", 10); err == nil {
			t.Errorf("%s is %d bytes", name, len(got))
		}
		if sent := <-ended; sent > 16<<20 { // what fits between two sockets
			t.Errorf("the daemon could send %d bytes of the %s", sent, name)
		}
	}
}

// TestUnsafe: a daemon that would run the container's code gets no such request, also
// not to explain a failure.
func TestUnsafe(t *testing.T) {
	for server, safe := range map[string]bool{
		"Docker/19.03.0 (linux)": false, "Docker/19.03.0-rc2 (linux)": false, "Docker/19.03.0-ce (linux)": false, "": false, "nginx": false,
		"Docker/19.03.1 (linux)": true, "Docker/19.03.15 (linux)": true, "Docker/18.09.9 (linux)": true, "Docker/20.10.24+dfsg1 (linux)": true, "Libpod/5.4.2 (linux)": true,
	} {
		var gets atomic.Int32
		m := made(t, server, func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet {
				gets.Add(1)
			}
			w.WriteHeader(http.StatusInternalServerError)
		})
		_, fileErr := m.File(t.Context(), "/f", 10)
		_, statErr := m.Stat(t.Context(), "/f")
		if errors.Is(fileErr, dockerd.ErrUnsafe) == safe || statErr == nil || (gets.Load() > 0) != safe {
			t.Errorf("%q: %v, %v, asked %d times", server, fileErr, statErr, gets.Load())
		}
	}
}
