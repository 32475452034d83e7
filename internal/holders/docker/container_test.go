// SPDX-License-Identifier: Apache-2.0

package docker_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/holders"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// TestLookGPUs checks which GPUs a container has, by what it requested.
func TestLookGPUs(t *testing.T) {
	m := newMachine(t)
	at := func(i int) string { return m.root.Join(m.node.GPUs[i].Nodes[0]) }
	link, loop := m.root.Join("/link"), m.root.Join("/loop")
	for name, target := range map[string]string{link: at(4), loop: loop} {
		if err := os.Symlink(target, name); err != nil {
			t.Fatal(err)
		}
	}
	lost := at(7)
	if err := os.Remove(lost); err != nil {
		t.Fatal(err)
	}
	all := m.gpus(0, 1, 2, 3, 4, 5, 6, 7)
	for name, tc := range map[string]struct {
		host object
		want []gpu.BDF
	}{
		"none":           {object{}, nil},
		"CDI, index":     {cdi("metax-tech.com/gpu=1"), m.gpus(1)},
		"CDI, UUIDs":     {cdi("metax-tech.com/gpu="+string(m.node.GPUs[5].UUID), "metax-tech.com/gpu="+string(m.node.GPUs[2].UUID)), m.gpus(2, 5)},
		"CDI, all":       {cdi("metax-tech.com/gpu=all"), all},
		"CDI, twice":     {cdi("metax-tech.com/gpu=1", "metax-tech.com/gpu="+m.node.GPUs[1].BDF.String()), m.gpus(1)},
		"CDI, others'":   {cdi("nvidia.com/gpu=1", "metax-tech.com/maca=host", "metax-tech.com/gpu=9"), nil},
		"no driver":      {object{"DeviceRequests": []object{{"Driver": "", "DeviceIDs": []string{"metax-tech.com/gpu=1"}}}}, m.gpus(1)},
		"node":           {devicePaths(at(3)), m.gpus(3)},
		"unclean":        {devicePaths(m.root.Join("/dev/dri") + "/../dri//" + strings.TrimPrefix(m.node.GPUs[3].Nodes[0], "/dev/dri/")), m.gpus(3)},
		"directory":      {devicePaths(m.root.Join("/dev/dri")), all},
		"link":           {devicePaths(link), m.gpus(4)},
		"node not there": {devicePaths(lost), m.gpus(7)},
		"loop":           {devicePaths(loop), nil},
		"shared node":    {devicePaths(m.root.Join("/dev/mxcd"), "/dev/null"), nil},
		"both":           {and(devicePaths(at(3)), "DeviceRequests", cdi("metax-tech.com/gpu=1")["DeviceRequests"]), m.gpus(1, 3)},
		"privileged":     {object{"Privileged": true}, nil},
		"annotation":     {annotated("metax-tech.com/gpu", "2,"+string(m.node.GPUs[5].UUID)), m.gpus(2, 5)},
		"CDI annotation": {annotated("cdi.k8s.io/x", "metax-tech.com/gpu=all"), all},
		"the shim":       {and(annotated("metax-tech.com/gpu", "2"), "Runtime", "metax"), m.gpus(2)},
		"runc":           {and(annotated("metax-tech.com/gpu", "2"), "Runtime", "runc"), nil},
		"runc by path":   {and(annotated("cdi.k8s.io/x", "metax-tech.com/gpu=all"), "Runtime", "io.containerd.runc.v2"), nil},
		"runc and CDI":   {and(and(cdi("metax-tech.com/gpu=1"), "Annotations", object{"metax-tech.com/gpu": "2"}), "Runtime", "runc"), m.gpus(1)},
		"malformed":      {annotated("metax-tech.com/gpu", "2,,5"), nil},
		"all ways":       {and(and(devicePaths(at(3)), "DeviceRequests", cdi("metax-tech.com/gpu=1")["DeviceRequests"]), "Annotations", object{"metax-tech.com/gpu": "0,1"}), m.gpus(0, 1, 3)},
		"no annotations": {object{"Annotations": nil}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			d := &daemon{containers: []made{{id("a"), "a", "running", nil, tc.host, false}}}
			sight, err := serve(t, d, m.devices).Look(t.Context(), usage.Question{})
			if err != nil || sight.Partial || len(sight.Containers) != 1 {
				t.Fatalf("got %v, %v", sight, err)
			}
			if diff := cmp.Diff(tc.want, sight.Containers[0].GPUs); diff != "" {
				t.Error(diff)
			}
			if got := sight.Containers[0].Privileged; got != (name == "privileged") {
				t.Errorf("privileged is %t", got)
			}
		})
	}
}

// TestLookMounts checks which GPUs a container requests from the runtime by its mounts.
func TestLookMounts(t *testing.T) {
	m := newMachine(t)
	const list = "/var/run/metax-container-devices/"
	mount := func(kind, source, destination string) object {
		return object{"Type": kind, "Source": source, "Destination": destination, "Mode": "", "RW": true, "Propagation": "rprivate"}
	}
	for name, tc := range map[string]struct {
		mounts []object
		want   []gpu.BDF
	}{
		"none":      {[]object{}, nil},
		"some":      {[]object{mount("bind", "/dev/null", list+"2"), mount("bind", "/data", "/data"), mount("bind", "/dev/null", list+"6")}, m.gpus(2, 6)},
		"a volume":  {[]object{mount("volume", "/var/lib/docker/volumes/x/_data", list+"2")}, nil},
		"elsewhere": {[]object{mount("bind", "/dev/null", "/etc/motd")}, nil},
		"no source": {[]object{{"Type": "tmpfs", "Destination": list + "2"}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			labels := map[string]string{"metax-tech.com/gpu": "all"} // no label asks for anything
			d := &daemon{containers: []made{{id("a"), "a", "created", labels, object{}, false}}, mounts: map[string][]object{id("a"): tc.mounts}}
			s := serve(t, d, m.devices)
			sight, err := s.Look(t.Context(), usage.Question{})
			if err != nil || sight.Partial || len(sight.Containers) != 1 {
				t.Fatalf("got %v, %v", sight, err)
			}
			one, err := s.Container(t.Context(), "a")
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range []usage.Container{sight.Containers[0], one} {
				if diff := cmp.Diff(tc.want, c.GPUs); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

// An answer that is not a container is an error, as for dockerd.
func TestLookTrouble(t *testing.T) {
	for _, text := range []string{"", "null", "{}", `{"Id":"a"`, `[{"Id":"a"}]`, `{"Id":"a","Mounts":{}}`, `{"Id":"a","HostConfig":{"Annotations":[]}}`} {
		s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/containers/json" {
				io.WriteString(w, `[{"Id":"`+id("a")+`","State":"running"}]`)
				return
			}
			io.WriteString(w, text)
		}), holders.Devices{})
		sight, err := s.Look(t.Context(), usage.Question{})
		if err == nil || !strings.Contains(err.Error(), id("a")) || !sight.Partial || len(sight.Containers) != 0 {
			t.Errorf("%q is %v, %v", text, sight, err)
		}
	}
}

func TestLook(t *testing.T) {
	m := newMachine(t)
	policy := func(name string) object {
		return and(cdi("metax-tech.com/gpu=1"), "RestartPolicy", object{"Name": name, "MaximumRetryCount": 0})
	}
	lease := map[string]string{usage.LeaseLabel: "l1", "other": "x"}
	d := &daemon{containers: []made{
		{id("1"), "run", "running", lease, policy("always"), false},
		{id("2"), "plain", "exited", nil, object{}, false},
		{id("3"), "stopped", "exited", nil, policy("unless-stopped"), false},
		{id("4"), "failed", "exited", nil, policy("on-failure"), false},
		{id("5"), "made", "created", nil, policy("no"), false},
		{id("6"), "left", "removing", nil, policy(""), true},
		{id("7"), "odd", "stopping", nil, policy("no"), false},
		{id("8"), "dead", "dead", nil, policy("no"), false},
		{id("9"), "paused", "paused", nil, policy("no"), false},
	}}
	created := time.Unix(bornSeconds, 0).UTC()
	container := func(n, name string, state usage.ContainerState, keeps bool) usage.Container {
		return usage.Container{
			Engine: "docker", ID: id(n), State: state, Keeps: keeps, Started: began,
			Facts: usage.Facts{Name: name, Image: "maca:3", GPUs: m.gpus(1), Created: created},
		}
	}
	want := []usage.Container{
		container("1", "run", usage.Running, true),
		container("2", "plain", usage.Exited, false),
		container("3", "stopped", usage.Exited, true),
		container("4", "failed", usage.Exited, false),
		container("5", "made", usage.Created, false),
		container("7", "odd", usage.Running, false),
		container("8", "dead", usage.Dead, false),
		container("9", "paused", usage.Paused, false),
	}
	want[0].Lease, want[0].Init = "l1", 165
	want[1].GPUs = nil

	s := serve(t, d, m.devices)
	first, err := s.Look(t.Context(), usage.Question{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(usage.Sight{Containers: want}, first); diff != "" {
		t.Error(diff)
	}
	inspected, asked := d.reset()
	if len(inspected) != len(d.containers) || len(asked) != 1 {
		t.Errorf("inspected %q, asked %q", inspected, asked)
	}

	// What is known is asked no more, but for policies that decide now. Names change.
	d.containers[0].name, want[0].Name = "renamed", "renamed"
	d.containers = slices.Delete(d.containers, 5, 6)
	for _, i := range []int{0, 5, 7} { // they live
		want[i].Keeps, want[i].Started, want[i].Init = false, "", 0
	}
	want[1].Started = ""
	seen := map[string]usage.Facts{}
	for _, c := range first.Containers {
		seen[c.Key()] = c.Facts
	}
	second, err := s.Look(t.Context(), usage.Question{Seen: seen})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(usage.Sight{Containers: want}, second); diff != "" {
		t.Error(diff)
	}
	inspected, _ = d.reset()
	if diff := cmp.Diff([]string{id("3"), id("4"), id("5"), id("8")}, inspected); diff != "" {
		t.Error(diff)
	}
}

// Facts that containerd told of the same container are less than docker's.
func TestLookOthersFacts(t *testing.T) {
	m := newMachine(t)
	d := &daemon{containers: []made{{id("a"), "a", "running", nil, cdi("metax-tech.com/gpu=1"), false}}}
	seen := map[string]usage.Facts{id("a"): {Privileged: true, Created: time.Unix(bornSeconds, 7e8)}}
	sight, err := serve(t, d, m.devices).Look(t.Context(), usage.Question{Seen: seen})
	if err != nil || len(sight.Containers) != 1 {
		t.Fatalf("got %v, %v", sight, err)
	}
	want := usage.Facts{Name: "a", Image: "maca:3", GPUs: m.gpus(1), Created: time.Unix(bornSeconds, 0).UTC()}
	if diff := cmp.Diff(want, sight.Containers[0].Facts); diff != "" {
		t.Error(diff)
	}
}

// What a container was given stays, though its names mean something else by now.
func TestLookKeepsFacts(t *testing.T) {
	m := newMachine(t)
	d := &daemon{containers: []made{{id("a"), "a", "exited", nil, cdi("metax-tech.com/gpu=1"), false}}}
	facts := usage.Facts{Name: "a", Image: "maca:2", GPUs: m.gpus(2), Created: time.Unix(bornSeconds, 0).UTC()}
	sight, err := serve(t, d, m.devices).Look(t.Context(), usage.Question{Seen: map[string]usage.Facts{id("a"): facts}})
	if err != nil || len(sight.Containers) != 1 || sight.Containers[0].Started != began {
		t.Fatalf("got %v, %v", sight, err)
	}
	if diff := cmp.Diff(facts, sight.Containers[0].Facts); diff != "" {
		t.Error(diff)
	}
}

// The state of the inspection counts: the container has started since the list.
func TestLookNewer(t *testing.T) {
	d := &daemon{containers: []made{{id("a"), "a", "exited", nil, object{}, false}}}
	d.inspect = func(*http.Request, string) { d.containers[0].state = "running" }
	sight, err := serve(t, d, holders.Devices{}).Look(t.Context(), usage.Question{})
	if err != nil || len(sight.Containers) != 1 || sight.Containers[0].State != usage.Running || sight.Containers[0].Init == 0 {
		t.Errorf("got %v, %v", sight, err)
	}
}

// Eight are inspected at a time, those that live first.
func TestLookParallel(t *testing.T) {
	var d daemon
	for i := range 30 {
		state := "exited"
		if i >= 24 {
			state = "running"
		}
		d.containers = append(d.containers, made{id(fmt.Sprint(i)), fmt.Sprint(i), state, nil, object{}, false})
	}
	var mu sync.Mutex
	var started []string
	now, most := 0, 0
	eight := make(chan struct{})
	d.inspect = func(r *http.Request, id string) {
		mu.Lock()
		started = append(started, id)
		now++
		most = max(most, now)
		if len(started) == 8 {
			close(eight)
		}
		mu.Unlock()
		select {
		case <-eight:
		case <-r.Context().Done():
		}
		mu.Lock()
		now--
		mu.Unlock()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	sight, err := serve(t, &d, holders.Devices{}).Look(ctx, usage.Question{})
	if err != nil || len(sight.Containers) != 30 || most > 8 {
		t.Fatalf("got %d containers by %d at a time, %v", len(sight.Containers), most, err)
	}
	for i := 24; i < 30; i++ {
		if !slices.Contains(started[:8], id(fmt.Sprint(i))) {
			t.Errorf("%d runs, and is not among the first", i)
		}
	}
	for i, c := range sight.Containers {
		if c.Name != fmt.Sprint(i) {
			t.Errorf("place %d has %s", i, c.Name)
		}
	}
}

// One container that is stuck takes the others neither time nor facts.
func TestLookStuck(t *testing.T) {
	var d daemon
	for i := range 20 {
		d.containers = append(d.containers, made{id(fmt.Sprint(i)), fmt.Sprint(i), "running", nil, object{}, false})
	}
	d.inspect = func(r *http.Request, stuck string) {
		if stuck == id("3") {
			<-r.Context().Done()
		}
	}
	s := serve(t, &d, holders.Devices{})
	q := usage.Question{Ended: []usage.Lease{{ID: "l1"}}}
	d.events = []object{destroyed(id("aa"), "l1")}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	sight, err := s.Look(ctx, q)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), id("3")) || !sight.Partial || len(sight.Containers) != 19 {
		t.Errorf("got %d containers, partial %t, %v", len(sight.Containers), sight.Partial, err)
	}
	if diff := cmp.Diff([]string{"l1"}, sight.Over); diff != "" {
		t.Error(diff)
	}
	if slices.ContainsFunc(sight.Containers, func(c usage.Container) bool { return c.ID == id("3") }) {
		t.Error("a container is told of that was not inspected")
	}
}
