// SPDX-License-Identifier: Apache-2.0

package docker_test

import (
	"encoding/json"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/holders"
	"github.com/metax-ctk/container-toolkit/internal/holders/docker"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/test/simtest"
)

type object = map[string]any

// made is a container of the daemon.
type made struct {
	id, name, state string
	labels          map[string]string
	host            object // HostConfig
	gone            bool   // between the list and the inspection
}

// The daemon's words for when a container was made, and when it last started.
const (
	bornSeconds = 1795265700
	born        = "2026-11-21T12:55:00.695801696Z"
	began       = "2026-11-21T12:55:00.711164412Z"
)

// id is a full ID.
func id(s string) string { return strings.Repeat("0", 64-len(s)) + s }

// daemon answers in the form of Docker 28; see dockerd's testdata.
type daemon struct {
	containers []made
	mounts     map[string][]object // by the container's ID
	events     []object
	// inspect is called before a container is told of.
	inspect func(r *http.Request, id string)

	mu        sync.Mutex
	inspected []string
	asked     []string // other questions
}

func (d *daemon) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name, ok := strings.CutPrefix(r.URL.Path, "/containers/")
	name, inspects := strings.CutSuffix(name, "/json")
	d.mu.Lock()
	if ok && inspects {
		d.inspected = append(d.inspected, name)
	} else {
		d.asked = append(d.asked, r.URL.Path)
	}
	d.mu.Unlock()
	encode := json.NewEncoder(w)
	switch {
	case r.URL.Path == "/containers/json" && r.URL.RawQuery == "all=1":
		list := []object{}
		for _, c := range d.containers {
			list = append(list, object{
				"Id": c.id, "Names": []string{"/other/link", "/" + c.name}, "Image": "sha256:8db7", "Created": bornSeconds,
				"Labels": c.labels, "State": c.state, "HostConfig": object{"NetworkMode": "none"},
			})
		}
		encode.Encode(list)
	case r.URL.Path == "/events" && r.URL.Query().Get("filters") == `{"event":["destroy"],"type":["container"]}`:
		for _, e := range d.events {
			encode.Encode(e)
		}
	case inspects:
		if d.inspect != nil {
			d.inspect(r, name)
		}
		i := slices.IndexFunc(d.containers, func(c made) bool { return c.id == name || c.name == name })
		if i < 0 || d.containers[i].gone {
			w.WriteHeader(http.StatusNotFound)
			encode.Encode(object{"message": "No such container: " + name})
			return
		}
		inspection := d.containers[i].inspection()
		inspection["Mounts"] = d.mounts[d.containers[i].id]
		encode.Encode(inspection)
	default:
		w.WriteHeader(http.StatusBadRequest)
	}
}

func (c made) inspection() object {
	pid := 0
	if c.state == "running" {
		pid = 165
	}
	return object{
		"Id": c.id, "Name": "/" + c.name, "Created": born,
		"State":  object{"Status": c.state, "StartedAt": began, "Pid": pid},
		"Config": object{"Image": "maca:3", "Labels": c.labels}, "HostConfig": c.host,
	}
}

// reset forgets what was asked and returns who was inspected, ascending.
func (d *daemon) reset() (inspected, asked []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	inspected, asked = d.inspected, d.asked
	d.inspected, d.asked = nil, nil
	slices.Sort(inspected)
	return inspected, asked
}

// serve returns the source of a daemon.
func serve(t *testing.T, h http.Handler, devices holders.Devices) docker.Source {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "d.sock")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: h}
	go s.Serve(l)
	t.Cleanup(func() { s.Close() })
	return docker.New(socket, devices)
}

// machine is a simulated node and where it stands.
type machine struct {
	node    gpu.Node
	root    *hostfs.Root
	devices holders.Devices
}

func newMachine(t *testing.T) machine {
	t.Helper()
	node, tree := simtest.Host(t, "c500-8")
	root := simtest.Write(t, tree)
	return machine{node, root, holders.NewDevices(node, root)}
}

// gpus are the addresses of GPUs by index.
func (m machine) gpus(indices ...int) []gpu.BDF { return m.devices.Indices(indices...) }

// cdi asks for devices by CDI name.
func cdi(names ...string) object {
	return object{"DeviceRequests": []object{{"Driver": "cdi", "Count": 0, "DeviceIDs": names, "Capabilities": nil, "Options": nil}}}
}

// annotated asks the runtime by an annotation.
func annotated(key, value string) object {
	return object{"Annotations": object{key: value}}
}

// paths asks for devices by path.
func devicePaths(paths ...string) object {
	var devices []object
	for _, p := range paths {
		devices = append(devices, object{"PathOnHost": p, "PathInContainer": p, "CgroupPermissions": "rwm"})
	}
	return object{"Devices": devices, "DeviceRequests": nil}
}

// and adds to the host configuration.
func and(host object, key string, value any) object {
	host[key] = value
	return host
}
