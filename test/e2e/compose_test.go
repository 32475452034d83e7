// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/test/report"
	"github.com/metax-ctk/container-toolkit/test/sandbox"
)

func TestCompose(t *testing.T) {
	rows := []struct {
		suite, version, compose string
		layout                  sandbox.Layout
	}{
		{docker29, "29.8.", "2.40.", sandbox.V2},     // CDI
		{"sid", "28.", "2.40.", sandbox.Hybrid},      // CDI
		{"sid", "28.", "2.40.", sandbox.V2},          // CDI
		{"trixie", "26.1.", "2.26.", sandbox.Hybrid}, // plain devices
	}
	for _, row := range rows {
		t.Run(fmt.Sprintf("%s/%s", row.suite, row.layout), func(t *testing.T) {
			t.Parallel()
			h := newHost(t, row.suite, row.layout)
			h.docker(t, row.version, nil)
			assertVersion(t, "compose", strings.TrimSpace(h.must(t, nil, "docker", "compose", "version", "--short")), row.compose)
			c := composing{desk: desk{host: h, client: "docker", root: nodeDir}}
			for _, part := range []struct {
				name string
				run  func(*testing.T)
			}{
				{"services", c.services},
				{"again", c.again},
				{"MXMACA", c.maca},
				{"replicas", c.replicas},
				{"stopped", c.stopped},
				{"run", c.runs},
				{"refused", c.refusals},
				{"devices", c.devices},
				{"text", c.text},
				{"others", c.others},
				{"two projects", c.two},
			} {
				t.Run(part.name, func(t *testing.T) {
					defer c.clear(t)
					part.run(t)
				})
			}
		})
	}
}

// composing drives projects of compose.
type composing struct{ desk }

// project writes a project with these services, each line a service of the test image.
func (c composing) project(t *testing.T, name string, services ...string) {
	t.Helper()
	text := "services:\n"
	for _, service := range services {
		name, rest, _ := strings.Cut(service, ": ")
		text += fmt.Sprintf("  %s: {image: %q, network_mode: none, stop_grace_period: 1s, %s}\n", name, imageRef, rest)
	}
	c.write(t, "/projects/"+name+"/compose.yaml", text)
}

// devices asserts that the CDI name of a GPU under devices is a request for it.
func (c composing) devices(t *testing.T) {
	c.project(t, "byname", `a: devices: ["metax-tech.com/gpu=0"]`, `b: devices: ["/dev/null:/dev/zilch", "metax-tech.com/gpu=5"]`)
	c.compose(t, "byname", "up", "--detach")
	c.counts(t, "byname", map[string]int{"a": 1, "b": 1})
	before := c.containers(t, "byname")
	c.holds(t, 0, 5)
	c.compose(t, "byname", "up", "--detach")
	if d := cmp.Diff(before, c.containers(t, "byname")); d != "" {
		t.Errorf("a second up makes containers anew: %s", d)
	}
	c.project(t, "rival", `a: devices: ["metax-tech.com/gpu=0"]`)
	c.failed(t, c.run(t, c.env(), c.argv("rival", "up", "--detach")...), "GPU 0 is in use by container byname-a-1 (docker)", "To share: --gpus-share")
	c.compose(t, "rival", "up", "--detach", "--gpus-share")
	c.compose(t, "rival", "down")
	c.compose(t, "byname", "down")
}

func (c composing) argv(project string, words ...string) []string {
	return append([]string{"metax-docker", "compose", "--file", "/projects/" + project + "/compose.yaml"}, words...)
}

// compose runs a command that has to succeed.
func (c composing) compose(t *testing.T, project string, words ...string) string {
	t.Helper()
	return c.must(t, c.env(), c.argv(project, words...)...)
}

// containers are the containers of a project that run, with their IDs.
func (c composing) containers(t *testing.T, project string) map[string]string {
	t.Helper()
	out := map[string]string{}
	text := c.must(t, nil, "docker", "ps", "--no-trunc", "--filter", "label=com.docker.compose.project="+project,
		"--format", `{{.Label "com.docker.compose.service"}} {{.ID}}`)
	for line := range strings.Lines(text) {
		service, id, _ := strings.Cut(strings.TrimSpace(line), " ")
		out[service] = id
	}
	return out
}

// counts asserts how many GPUs the running services of a project have, that no GPU is given
// twice, and that all are held.
func (c composing) counts(t *testing.T, project string, want map[string]int) {
	t.Helper()
	got := map[string]int{}
	var all []int
	for service, id := range c.containers(t, project) {
		if c.must(t, nil, "docker", "inspect", "--format", `{{index .Config.Labels "metax-tech.com/gpus"}}`, id) == "\n" {
			got[service] = 0
			continue
		}
		gpus := c.given(t, id)
		got[service] = len(gpus)
		all = append(all, gpus...)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("GPUs of the services (-want +got):\n%s", d)
	}
	slices.Sort(all)
	if len(slices.Compact(slices.Clone(all))) != len(all) {
		t.Errorf("a GPU is given twice: %v", all)
	}
	c.holds(t, all...)
}

func (c composing) services(t *testing.T) {
	in := c.inbox(t)
	look := fmt.Sprintf("volumes: [%q]", in.dir+":"+report.Dir)
	c.project(t, "shop",
		"train: "+look+", deploy: {resources: {reservations: {devices: [{driver: metax, count: 2, capabilities: [gpu]}]}}}",
		"train-2: extends: train",
		"serve: "+look+", gpus: [{count: 1}], user: '1000:1000'",
		`named: `+look+`, deploy: {resources: {reservations: {devices: [{driver: cdi, device_ids: ["metax-tech.com/gpu=7"], capabilities: [gpu]}]}}}`,
		"plain: "+look+", depends_on: [train]",
	)
	c.compose(t, "shop", "up", "--detach")
	c.counts(t, "shop", map[string]int{"train": 2, "train-2": 2, "serve": 1, "named": 1, "plain": 0})
	c.has(t, c.containers(t, "shop")["named"], 7)
	for service, id := range c.containers(t, "shop") {
		var gpus []int
		if service != "plain" {
			gpus = c.given(t, id)
		}
		c.compose(t, "shop", append([]string{"exec", "-T", service, "/probe", "look"}, c.numbers(t)...)...)
		c.sees(t, in.report(t), gpus)
		// The next may be another user.
		if err := os.Remove(filepath.Join(in.path, report.Look)); err != nil {
			t.Fatal(err)
		}
	}
	c.compose(t, "shop", "down")
	c.free(t)
}

// again asserts that what runs stays as it is, and what is made anew keeps its GPUs.
func (c composing) again(t *testing.T) {
	c.project(t, "shop", "a: gpus: [{count: 2}]", "b: gpus: [{count: 1}]")
	c.compose(t, "shop", "up", "--detach")
	before := c.containers(t, "shop")
	gpus := c.given(t, before["a"])
	c.compose(t, "shop", "up", "--detach")
	if d := cmp.Diff(before, c.containers(t, "shop")); d != "" {
		t.Errorf("up again changes containers (-before +after):\n%s", d)
	}
	c.compose(t, "shop", "up", "--detach", "--force-recreate", "a")
	after := c.containers(t, "shop")
	if after["a"] == before["a"] || after["b"] != before["b"] {
		t.Errorf("containers %v, and when a was made anew %v", before, after)
	}
	c.has(t, after["a"], gpus...)
	c.project(t, "shop", "a: gpus: [{count: 4}]", "b: gpus: [{count: 1}]")
	c.compose(t, "shop", "up", "--detach")
	c.counts(t, "shop", map[string]int{"a": 4, "b": 1})
}

// maca asserts that services with GPUs get the host's MXMACA by default, the same each time,
// and that one declines it.
func (c composing) maca(t *testing.T) {
	c.project(t, "shop", "a: gpus: [{count: 2}]", `b: gpus: [{count: 1, options: {maca: "false"}}]`)
	up := func() map[string]string {
		t.Helper()
		c.must(t, append(c.env(), "METAX_CTK_MACA_DEFAULT=auto"), c.argv("shop", "up", "--detach")...)
		return c.containers(t, "shop")
	}
	before := up()
	for service, want := range map[string]bool{"a": true, "b": false} {
		made := c.must(t, nil, "docker", "inspect", "--format", "{{json .HostConfig}} {{json .Config.Env}}", before[service])
		if got := strings.Contains(made, "metax-tech.com/maca=host") || strings.Contains(made, "MACA_PATH=/opt/maca"); got != want {
			t.Errorf("service %s has MXMACA: %t, want %t: %s", service, got, want, made)
		}
	}
	if d := cmp.Diff(before, up()); d != "" {
		t.Errorf("up again changes containers (-before +after):\n%s", d)
	}
}

// replicas asserts that a service with GPUs has at most one.
func (c composing) replicas(t *testing.T) {
	c.project(t, "shop", "a: gpus: [{count: 1}]", "b: scale: 2, gpus: [{count: 1}]")
	for _, words := range [][]string{{"up", "--detach"}, {"up", "--detach", "--scale", "a=3", "a"}, {"scale", "a=2"}} {
		c.failed(t, c.run(t, c.env(), c.argv("shop", words...)...), "replicas, which would all get the same GPUs")
	}
	c.free(t)
	c.compose(t, "shop", "up", "--detach", "--scale", "b=1")
	c.counts(t, "shop", map[string]int{"a": 1, "b": 1})
	c.compose(t, "shop", "up", "--detach", "--scale", "b=0")
	c.counts(t, "shop", map[string]int{"a": 1})
	c.compose(t, "shop", "scale", "a=1", "b=1")
	c.counts(t, "shop", map[string]int{"a": 1, "b": 1})
}

// stopped asserts that a container that was stopped gets its GPUs back if it can.
func (c composing) stopped(t *testing.T) {
	c.project(t, "shop", "a: gpus: [{count: 4}]", "b: gpus: [{count: 2}]")
	c.compose(t, "shop", "up", "--detach")
	before := c.containers(t, "shop")
	gpus := c.given(t, before["a"])
	for _, again := range [][]string{{"start", "a"}, {"up", "--detach"}, {"restart", "a"}} {
		c.compose(t, "shop", "stop", "a")
		c.holds(t, c.given(t, before["b"])...)
		c.compose(t, "shop", again...)
		if d := cmp.Diff(before, c.containers(t, "shop")); d != "" {
			t.Errorf("containers, after stop and %v (-before +after):\n%s", again, d)
		}
		c.counts(t, "shop", map[string]int{"a": 4, "b": 2})
	}
	c.compose(t, "shop", "stop", "a")
	thief := c.detach(t, fmt.Sprintf("--gpus=[%d]", gpus[0]))
	c.failed(t, c.run(t, c.env(), c.argv("shop", "start", "a")...), fmt.Sprintf("GPU %d is in use", gpus[0]))
	c.compose(t, "shop", "up", "--detach", "--scale", "b=1")
	if c.given(t, thief)[0] != gpus[0] || slices.Contains(c.given(t, c.containers(t, "shop")["a"]), gpus[0]) {
		t.Errorf("GPU %d is given twice", gpus[0])
	}
}

func (c composing) runs(t *testing.T) {
	in := c.inbox(t)
	c.project(t, "shop", "dep: gpus: [{count: 1}]",
		fmt.Sprintf("a: gpus: [{count: 2}], depends_on: [dep], volumes: [%q]", in.dir+":"+report.Dir))
	c.compose(t, "shop", append([]string{"run", "--rm", "a", "/probe", "look"}, c.numbers(t)...)...)
	c.sees(t, in.report(t), c.seen(t, in))
	c.counts(t, "shop", map[string]int{"dep": 1})
	if r := c.run(t, c.env(), c.argv("shop", "run", "--rm", "--no-deps", "a", "/probe", "exit", "42")...); r.code != 42 {
		t.Errorf("want exit code 42: %v", r)
	}
	c.compose(t, "shop", "up", "--detach")
	c.compose(t, "shop", append([]string{"run", "--rm", "a", "/probe", "look"}, c.numbers(t)...)...)
	one := c.seen(t, in)
	for _, id := range c.containers(t, "shop") {
		if slices.ContainsFunc(c.given(t, id), func(g int) bool { return slices.Contains(one, g) }) {
			t.Errorf("the run has the GPUs %v, and %s some of them", one, id)
		}
	}
}

// seen are the GPUs whose nodes the report shows, two of them.
func (c composing) seen(t *testing.T, in inbox) []int {
	t.Helper()
	r := in.report(t)
	var gpus []int
	for _, g := range c.gpus {
		for _, node := range r.Nodes {
			if node.Path == g.Nodes[0] {
				gpus = append(gpus, g.Index)
			}
		}
	}
	if len(gpus) != 2 {
		t.Fatalf("the probe sees the GPUs %v, want two", gpus)
	}
	return gpus
}

func (c composing) refusals(t *testing.T) {
	c.project(t, "shop", "a: gpus: [{count: 5}]", "b: gpus: [{count: 4}]")
	c.failed(t, c.run(t, c.env(), c.argv("shop", "up", "--detach")...), "9 GPUs requested by 2 services, but this node has only 8 usable ones")
	c.free(t)
	c.project(t, "shop", `a: gpus: [{device_ids: ["3"]}]`, `b: gpus: [{device_ids: ["3"]}]`)
	c.failed(t, c.run(t, c.env(), c.argv("shop", "up", "--detach")...), `services "a" and "b" both request GPU 3`)
	c.detach(t, "--gpus=[3]", "--name=owner")
	c.failed(t, c.run(t, c.env(), c.argv("shop", "up", "--detach", "a")...), `service "a": GPU 3 is in use by container owner (docker)`)
	c.project(t, "shop", "a: gpus: all")
	c.failed(t, c.run(t, c.env(), c.argv("shop", "up", "--detach")...), "only 7 of 8 are free")
	c.compose(t, "shop", "up", "--detach", "--gpus-share")
	c.has(t, c.containers(t, "shop")["a"], 0, 1, 2, 3, 4, 5, 6, 7)
}

// text asserts that what compose has made of the project's text comes through.
func (c composing) text(t *testing.T) {
	c.project(t, "shop", `a: gpus: [{count: 1}], labels: {l: "$$x <&> ${NONE:-d}"}, environment: {E: "$$$$y$${Z}"}`)
	c.compose(t, "shop", "up", "--detach")
	got := c.must(t, nil, "docker", "inspect", "--format", `{{.Config.Labels.l}}|{{range .Config.Env}}{{if eq (printf "%.2s" .) "E="}}{{.}}{{end}}{{end}}`, c.containers(t, "shop")["a"])
	if d := cmp.Diff("$x <&> d|E=$$y${Z}\n", got); d != "" {
		t.Errorf("label and environment (-want +got):\n%s", d)
	}
}

// others asserts that a project without GPUs is docker's alone.
func (c composing) others(t *testing.T) {
	c.project(t, "shop", "a: scale: 2")
	c.compose(t, "shop", "up", "--detach")
	got := c.must(t, nil, "docker", "ps", "--format", `{{.Names}} {{.Label "com.docker.compose.project.config_files"}}`)
	lines := strings.Split(strings.TrimSpace(got), "\n")
	slices.Sort(lines)
	if d := cmp.Diff([]string{"shop-a-1 /projects/shop/compose.yaml", "shop-a-2 /projects/shop/compose.yaml"}, lines); d != "" {
		t.Errorf("containers (-want +got):\n%s", d)
	}
}

// two projects are started at the same time, and one waits for the other.
func (c composing) two(t *testing.T) {
	c.project(t, "one", "a: gpus: [{count: 2}]", "b: gpus: [{count: 2}]")
	c.project(t, "two", "a: gpus: [{count: 3}]", "b: gpus: [{count: 1}]")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var starts sync.WaitGroup
	for _, project := range []string{"one", "two"} {
		starts.Go(func() {
			if r, err := c.try(ctx, c.env(), c.argv(project, "up", "--detach")...); err != nil || r.code != 0 {
				t.Errorf("up of project %s: %v, %v", project, err, r)
			}
		})
	}
	starts.Wait()
	var all []int
	for _, project := range []string{"one", "two"} {
		for _, id := range c.containers(t, project) {
			all = append(all, c.given(t, id)...)
		}
	}
	slices.Sort(all)
	if d := cmp.Diff([]int{0, 1, 2, 3, 4, 5, 6, 7}, all); d != "" {
		t.Errorf("GPUs of both projects (-want +got):\n%s", d)
	}
	c.project(t, "three", "a: gpus: [{count: 1}]")
	starts.Go(func() {
		if r, err := c.try(ctx, c.env(), c.argv("three", "up", "--detach", "--gpus-wait=2m")...); err != nil || r.code != 0 {
			t.Errorf("up of project three: %v, %v", err, r)
		}
	})
	c.compose(t, "one", "down")
	starts.Wait()
	if three := c.containers(t, "three"); len(three) != 1 || len(c.given(t, three["a"])) != 1 {
		t.Errorf("project three has the containers %v, want one with one GPU", three)
	}
}
