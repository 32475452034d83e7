// SPDX-License-Identifier: Apache-2.0

package dockerd_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/dockerd"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

// answer is what a real daemon said; the file's name begins with its version.
func answer(t *testing.T, name string) []byte {
	t.Helper()
	return testfile.Read(t, filepath.Join("testdata", name))
}

// replay serves the text at the URI.
func replay(t *testing.T, uri string, text []byte) dockerd.Daemon {
	t.Helper()
	return dockerd.Daemon{Socket: serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.RequestURI != uri {
			t.Errorf("asked for %s, want %s", r.RequestURI, uri)
		}
		w.Write(text)
	})}
}

func TestContainers(t *testing.T) {
	const image = "localhost/metax-e2e/probe:1"
	got, err := replay(t, "/containers/json?all=1", answer(t, "28-list.json")).Containers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []dockerd.Summary{
		{ID: "3d0b1226f4facb2406a28fdfe9df4c6dda9b7ef66d8f1011953c53802f661d7e", Names: []string{"/made"}, Image: image, Labels: map[string]string{}, State: "created", Created: 1795265701},
		{ID: "5bb97631558ac30a7b537d5eff7ac88a6dbb8d66291454c6ff6a1573e8154436", Names: []string{"/dri"}, Image: image, Labels: map[string]string{}, State: "running", Created: 1795265700},
		{ID: "801294c2c203c24479b72ea09720f67461eed870748d3aeb334bfe06ed0e1d25", Names: []string{"/cdi"}, Image: image, Labels: map[string]string{"metax-tech.com/lease": "cccc"}, State: "running", Created: 1795265700},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestContainersMany(t *testing.T) {
	const many = 5000
	one := `{"Id":"%064x","Names":["/n"],"Labels":{"x":"` + strings.Repeat("x", 2000) + `"},"State":"exited"}`
	all := make([]string, many)
	for i := range all {
		all[i] = fmt.Sprintf(one, i)
	}
	text := []byte("[" + strings.Join(all, ",") + "]")
	got, err := replay(t, "/containers/json?all=1", text).Containers(t.Context())
	if err != nil || len(got) != many || got[many-1].ID != fmt.Sprintf("%064x", many-1) {
		t.Errorf("got %d containers, %v", len(got), err)
	}
}

func TestContainersTrouble(t *testing.T) {
	for _, text := range []string{"", "null", "{}", `[{"Id":"a"}`, `[{"Id":"a"},{}]`, `[{"Id":"a"}]]`, "<html>"} {
		d := replay(t, "/containers/json?all=1", []byte(text))
		if got, err := d.Containers(t.Context()); err == nil || !strings.Contains(err.Error(), d.Socket) {
			t.Errorf("%q is %v, %v", text, got, err)
		}
	}
}

func TestSummaryName(t *testing.T) {
	for want, names := range map[string][]string{
		"a": {"/b/link", "/a"}, "b": {"/b"}, "": {"/b/link", "plain"},
	} {
		if got := (dockerd.Summary{Names: names}).Name(); got != want {
			t.Errorf("%q is %q, want %q", names, got, want)
		}
	}
}

func TestInspect(t *testing.T) {
	container := func(text string) (c dockerd.Container) {
		if err := json.Unmarshal([]byte(text), &c); err != nil {
			t.Fatal(err)
		}
		return c
	}
	// Compared as text, which has the fields' names: the file's are many more.
	for file, want := range map[string]string{
		"28-inspect.json": `{
			"Id": "801294c2c203c24479b72ea09720f67461eed870748d3aeb334bfe06ed0e1d25", "Name": "/cdi", "Created": "2026-11-21T12:55:00.695801696Z",
			"State": {"Status": "running", "StartedAt": "2026-11-21T12:55:00.711164412Z", "FinishedAt": "0001-01-01T00:00:00Z", "Pid": 165},
			"Config": {"Image": "localhost/metax-e2e/probe:1", "Labels": {"metax-tech.com/lease": "cccc"}, "Env": ["PATH=/"]},
			"HostConfig": {"Devices": [], "DeviceRequests": [{"Driver": "cdi", "DeviceIDs": ["metax-tech.com/gpu=1"]}], "RestartPolicy": {"Name": "unless-stopped"}, "Privileged": false, "Runtime": "runc"}, "Mounts": []}`,
		"20.10-inspect.json": `{
			"Id": "10502bb0e727c9a007165c9c155b01f492570455c48e48efb831963915aa6eab", "Name": "/dri", "Created": "2026-11-21T12:55:06.347022973Z",
			"State": {"Status": "running", "StartedAt": "2026-11-21T12:55:06.552444302Z", "FinishedAt": "0001-01-01T00:00:00Z", "Pid": 143},
			"Config": {"Image": "localhost/metax-e2e/probe:1", "Labels": {}, "Env": ["PATH=/"]},
			"HostConfig": {"Devices": [{"PathOnHost": "/node/dev/dri"}], "DeviceRequests": null, "RestartPolicy": {"Name": "no"}, "Privileged": false, "Runtime": "runc"}, "Mounts": []}`,
	} {
		got, err := replay(t, "/containers/x/json", answer(t, file)).Inspect(t.Context(), "/x")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(container(want), got); diff != "" {
			t.Errorf("%s: %s", file, diff)
		}
	}
}

// TestInspectName: a name cannot turn the request into another one.
func TestInspectName(t *testing.T) {
	const text = `{"Id":"a"}`
	for name, uri := range map[string]string{
		"a_b.c-1":             "/containers/a_b.c-1/json",
		"../info":             "/containers/..%2Finfo/json",
		"a?size=1#x":          "/containers/a%3Fsize=1%23x/json",
		"a HTTP/1.0\r\nX: %é": "/containers/a%20HTTP%2F1.0%0D%0AX:%20%25%C3%A9/json",
	} {
		if _, err := replay(t, uri, []byte(text)).Inspect(t.Context(), name); err != nil {
			t.Error(err)
		}
	}
}

func TestInspectTrouble(t *testing.T) {
	for _, text := range []string{"", "null", "{}", `{"Id":"a"`, `[{"Id":"a"}]`} {
		d := replay(t, "/containers/x/json", []byte(text))
		if got, err := d.Inspect(t.Context(), "x"); err == nil || !strings.Contains(err.Error(), d.Socket) {
			t.Errorf("%q is %v, %v", text, got, err)
		}
	}
	socket := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNotFound)
		io.WriteString(w, `{"message":"No such container: x"}`)
	})
	if _, err := (dockerd.Daemon{Socket: socket}).Inspect(t.Context(), "x"); !errors.Is(err, dockerd.ErrNotFound) {
		t.Errorf("got %v", err)
	}
}
