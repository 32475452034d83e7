// SPDX-License-Identifier: Apache-2.0

package dockerd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Draft is a container to be made and never started.
type Draft struct {
	Name     string
	Image    string // its ID, or a reference
	Platform string // docker's; empty leaves it to the daemon
	Labels   map[string]string
	// Covered are the directories for which the image declares volumes. They get memory
	// file systems instead: into a volume the daemon would copy the image's files.
	Covered []string
}

// Made is a container that Create made. The caller must remove it.
type Made struct {
	ID     string
	daemon Daemon
	server string // the program that the daemon says it is
}

// ErrExists reports a name that another container has.
var ErrExists = errors.New("the name is in use")

// Create makes a container without network, log and volumes, whose program does not
// exist. It fails with ErrNotFound if the daemon does not have the image (it pulls
// none), and with ErrExists.
func (d Daemon) Create(ctx context.Context, draft Draft) (Made, error) {
	body, err := json.Marshal(draft.config())
	if err != nil {
		return Made{}, fmt.Errorf("create container %q: %w", draft.Name, err)
	}
	path := "/containers/create?name=" + url.QueryEscape(draft.Name)
	if draft.Platform != "" {
		path += "&platform=" + url.QueryEscape(draft.Platform)
	}
	header, body, err := d.sendRequest(ctx,
		request{method: http.MethodPost, path: path, body: body, status: http.StatusCreated})
	if refused := (*StatusError)(nil); errors.As(err, &refused) && refused.Status == http.StatusConflict {
		err = fmt.Errorf("%w: %w", ErrExists, err)
	}
	if err != nil {
		return Made{}, fmt.Errorf("create container %q: %w", draft.Name, err)
	}
	var said struct {
		ID string `json:"Id"`
	}
	if err = json.Unmarshal(body, &said); err == nil && said.ID == "" {
		err = errNoID
	}
	if err != nil {
		return Made{},
			fmt.Errorf("create container %q: read the answer of the docker daemon at %s: %w", draft.Name, d.Socket, err)
	}
	return Made{ID: said.ID, daemon: d, server: header.Get("Server")}, nil
}

// config is the draft in the form of docker's API.
func (draft Draft) config() map[string]any {
	mounts := []map[string]string{}
	for _, dir := range slices.Sorted(slices.Values(draft.Covered)) {
		mounts = append(mounts, map[string]string{"Type": "tmpfs", "Target": dir})
	}
	labels := maps.Clone(draft.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	return map[string]any{
		"Image": draft.Image, "Labels": labels,
		// The daemon refuses a container without a program.
		"Entrypoint": []string{"/never-started"}, "Cmd": []string{},
		"NetworkDisabled": true,
		"HostConfig": map[string]any{
			"NetworkMode": "none", "LogConfig": map[string]any{"Type": "none"}, "Mounts": mounts,
		},
	}
}

// Remove removes the container; ErrNotFound means that it was already removed.
func (m Made) Remove(ctx context.Context) error { return m.daemon.Remove(ctx, m.ID) }

// Remove removes a stopped container, by ID or name, with the volumes that only it has.
// It fails with ErrNotFound if there is none.
func (d Daemon) Remove(ctx context.Context, idOrName string) error {
	path := "/containers/" + url.PathEscape(strings.TrimPrefix(idOrName, "/")) + "?v=1&force=0"
	if _, _, err := d.sendRequest(ctx,
		request{method: http.MethodDelete, path: path, status: http.StatusNoContent}); err != nil {
		return fmt.Errorf("remove container %q: %w", idOrName, err)
	}
	return nil
}
