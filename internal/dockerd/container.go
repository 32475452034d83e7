// SPDX-License-Identifier: Apache-2.0

package dockerd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// Summary is a container in the daemon's list.
type Summary struct {
	ID     string   `json:"Id"`
	Names  []string // each with a slash in front
	Image  string
	Labels map[string]string
	State  string // "running", "exited", …
	// Created is in seconds since 1970.
	Created int64
}

// Name is the container's own name. The names that other containers give it by links
// contain another slash.
func (s Summary) Name() string {
	for _, name := range s.Names {
		if name, ok := strings.CutPrefix(name, "/"); ok && !strings.Contains(name, "/") {
			return name
		}
	}
	return ""
}

// Container is the daemon's description of one container.
type Container struct {
	ID   string `json:"Id"`
	Name string // with a slash in front
	// Created is in the form of RFC 3339.
	Created string
	State   struct {
		Status string // as Summary.State
		// StartedAt and FinishedAt are in the form of RFC 3339, in the year 1 where
		// that never happened.
		StartedAt  string
		FinishedAt string
		Pid        int // 0 unless there is a process
	}
	Config struct {
		Image  string
		Labels map[string]string
		Env    []string
	}
	HostConfig struct {
		Devices        []Device
		DeviceRequests []DeviceRequest
		RestartPolicy  struct{ Name string }
		Privileged     bool
		// Runtime is the name of the low-level runtime in the daemon's configuration.
		Runtime string
		// Annotations are those that the daemon passes on to the runtime.
		Annotations map[string]string
	}
	// Mounts are all mounts, in whatever way they were requested.
	Mounts []Mount
}

// Mount is a mount: the path on the host, empty if it has none, and that in the
// container.
type Mount struct{ Source, Destination string }

// Device is a device of the host by its path.
type Device struct{ PathOnHost string }

// DeviceRequest requests devices from one of the daemon's device drivers; its driver
// "cdi" takes qualified CDI names.
type DeviceRequest struct {
	Driver    string
	DeviceIDs []string
}

// Containers returns all containers, also stopped ones.
func (d Daemon) Containers(ctx context.Context) ([]Summary, error) {
	return d.list(ctx, "/containers/json?all=1")
}

// Labelled returns all containers with a label of that name.
func (d Daemon) Labelled(ctx context.Context, name string) ([]Summary, error) {
	filters, err := json.Marshal(map[string][]string{"label": {name}})
	if err != nil {
		return nil, fmt.Errorf("write container filters: %w", err)
	}
	return d.list(ctx, "/containers/json?all=1&filters="+url.QueryEscape(string(filters)))
}

func (d Daemon) list(ctx context.Context, path string) ([]Summary, error) {
	_, body, err := d.Get(ctx, path)
	if err != nil {
		return nil, err
	}
	list, err := decodeList(body)
	if err != nil {
		return nil, fmt.Errorf("read the container list of the docker daemon at %s: %w", d.Socket, err)
	}
	return list, nil
}

// Inspect returns the container with an ID, the beginning of an ID, or a name. The
// error is ErrNotFound if there is none.
func (d Daemon) Inspect(ctx context.Context, idOrName string) (Container, error) {
	_, body, err := d.Get(ctx, "/containers/"+url.PathEscape(strings.TrimPrefix(idOrName, "/"))+"/json")
	if err != nil {
		return Container{}, fmt.Errorf("inspect container %q: %w", idOrName, err)
	}
	c, err := decodeContainer(body)
	if err != nil {
		return Container{},
			fmt.Errorf("inspect container %q: read the answer of the docker daemon at %s: %w", idOrName, d.Socket, err)
	}
	return c, nil
}

var (
	errNoList = errors.New("no list")
	errNoID   = errors.New("a container without an ID")
)

func decodeList(body []byte) ([]Summary, error) {
	var list []Summary
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, err
	}
	if list == nil {
		return nil, errNoList
	}
	for _, s := range list {
		if s.ID == "" {
			return nil, errNoID
		}
	}
	return list, nil
}

func decodeContainer(body []byte) (Container, error) {
	var c Container
	err := json.Unmarshal(body, &c)
	if err == nil && c.ID == "" {
		err = errNoID
	}
	return c, err
}
