// SPDX-License-Identifier: Apache-2.0

package dockerd

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"strings"
	"syscall"
)

var (
	// ErrUnsafe reports a daemon that must not be asked for a file: to pack it, Docker
	// 19.03.0 loads libraries from the container and runs them as root
	// (CVE-2019-14271).
	ErrUnsafe = errors.New(
		"copying files out of a container with Docker 19.03.0 runs code from the image (CVE-2019-14271): update Docker")
	// ErrNotRegular reports something other than a regular file.
	ErrNotRegular = errors.New("not a regular file")
	// ErrTooLarge reports a file that exceeds its reader's limit.
	ErrTooLarge = errors.New("file too large")
)

// overhead bounds, in bytes, the size of an archive beyond the contents of its file.
const overhead = 64 << 10

// PathStat is the daemon's description of a path in a container.
type PathStat struct {
	Name string      `json:"name"`
	Size int64       `json:"size"` // bytes
	Mode fs.FileMode `json:"mode"`
	// LinkTarget is where a link leads, from the container's root and through all
	// further links, as far as they exist.
	LinkTarget string `json:"linkTarget"`
}

// Stat describes the file at an absolute path of the container. It does not follow a
// link there, but those on the way, inside the container. It fails with ErrNotFound if
// the file or the container does not exist, and with syscall.ELOOP or syscall.ENOTDIR
// if the daemon cannot follow the path.
func (m Made) Stat(ctx context.Context, path string) (PathStat, error) {
	header, _, err := m.daemon.sendRequest(ctx, request{method: http.MethodHead, path: m.archive(path)})
	if err != nil {
		return PathStat{}, fmt.Errorf("stat %q in container %.12s: %w", path, m.ID, m.explain(ctx, path, err))
	}
	stat, err := decodePathStat(header)
	if err != nil {
		return PathStat{}, fmt.Errorf("stat %q in container %.12s: read the answer of the docker daemon at %s: %w", path,
			m.ID, m.daemon.Socket, err)
	}
	return stat, nil
}

// explain finds the reason of a failed HEAD request. The response to HEAD has no text,
// so explain sends the same request by GET.
func (m Made) explain(ctx context.Context, path string, refused error) error {
	if status := (*StatusError)(nil); !errors.As(refused, &status) || m.checkSafe() != nil {
		return refused
	}
	_, _, err := m.daemon.sendRequest(ctx, request{method: http.MethodGet, path: m.archive(path), maxBody: overhead})
	said := (*StatusError)(nil)
	switch {
	case err == nil:
		return refused
	case !errors.As(err, &said):
		return err
	case strings.Contains(said.Message, "too many links"), strings.Contains(said.Message, syscall.ELOOP.Error()):
		return fmt.Errorf("%w: %w", syscall.ELOOP, err)
	case strings.Contains(said.Message, syscall.ENOTDIR.Error()):
		return fmt.Errorf("%w: %w", syscall.ENOTDIR, err)
	}
	return err
}

// File returns the contents of a regular file of at most max bytes. It fails with
// ErrNotFound as Stat does, ErrNotRegular (also for a link), ErrTooLarge, or ErrUnsafe
// if the request would be dangerous. It reads no more than needed.
func (m Made) File(ctx context.Context, path string, max int64) ([]byte, error) {
	data, err := m.file(ctx, path, max)
	if err != nil {
		return nil, fmt.Errorf("read %q in container %.12s: %w", path, m.ID, err)
	}
	return data, nil
}

func (m Made) file(ctx context.Context, path string, max int64) ([]byte, error) {
	if err := m.checkSafe(); err != nil {
		return nil, err
	}
	_, body, err := m.daemon.sendRequest(ctx,
		request{method: http.MethodGet, path: m.archive(path), maxBody: max + overhead})
	if err != nil {
		return nil, err
	}
	return unpackFile(body, max)
}

func (m Made) archive(path string) string {
	return "/containers/" + url.PathEscape(m.ID) + "/archive?path=" + url.QueryEscape(path)
}

// checkSafe fails for the daemon that must not be asked, and for one that does not
// report its version.
func (m Made) checkSafe() error {
	_, version, ok := strings.Cut(m.server, "/")
	if !ok {
		return fmt.Errorf("%w (this daemon says it is %.80q)", ErrUnsafe, m.server)
	}
	// Its release candidates are unsafe also.
	if strings.HasPrefix(version, "19.03.0") {
		return fmt.Errorf("%w (this daemon is %.80q)", ErrUnsafe, m.server)
	}
	return nil
}

// unpackFile returns the one file in an archive, which may be cut off after the file.
func unpackFile(archive []byte, max int64) ([]byte, error) {
	r := tar.NewReader(bytes.NewReader(archive))
	header, err := r.Next()
	switch {
	case errors.Is(err, io.EOF):
		return nil, fmt.Errorf("read archive: %w", io.ErrUnexpectedEOF)
	case err != nil:
		return nil, fmt.Errorf("read archive: %w", err)
	case header.Typeflag != tar.TypeReg:
		return nil, fmt.Errorf("%w: type %q of the archive", ErrNotRegular, header.Typeflag)
	case header.Size > max:
		return nil, fmt.Errorf("%w: %d bytes, over %d", ErrTooLarge, header.Size, max)
	}
	data, err := io.ReadAll(io.LimitReader(r, max+1))
	if err != nil {
		return nil, fmt.Errorf("read archive: %w", err)
	}
	if _, err := r.Next(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%w: more than one in the archive, or its end is missing", ErrNotRegular)
	}
	return data, nil
}

func decodePathStat(header Header) (PathStat, error) {
	const field = "X-Docker-Container-Path-Stat"
	var stat PathStat
	value := header.Get(field)
	if value == "" {
		return stat, fmt.Errorf("it has no %s", field)
	}
	text, err := base64.StdEncoding.DecodeString(value)
	if err != nil {
		return stat, fmt.Errorf("%s: %w", field, err)
	}
	if err := json.Unmarshal(text, &stat); err != nil {
		return stat, fmt.Errorf("%s: %w", field, err)
	}
	if stat.Name == "" {
		return stat, fmt.Errorf("%s names nothing", field)
	}
	return stat, nil
}
