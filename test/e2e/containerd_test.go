// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/metax-ctk/container-toolkit/test/e2e/internal/cri"
	"github.com/metax-ctk/container-toolkit/test/report"
	"github.com/metax-ctk/container-toolkit/test/sandbox"
)

const (
	// containerd2 is the configuration of the 2.x line: CDI is on by default.
	containerd2 = `version = 3
[plugins."io.containerd.cri.v1.images".pinned_images]
  sandbox = "` + imageRef + `"
`
	// containerd1 is that of 1.7, whose CDI is off unless enable_cdi says otherwise.
	containerd1 = `version = 2
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "` + imageRef + `"
`
	enableCDI = "  enable_cdi = true\n"
)

func TestContainerd(t *testing.T) {
	rows := []struct {
		suite   string
		layout  sandbox.Layout
		version string
		config  string
		cdi     bool
		journey func(containerd, *testing.T)
	}{
		{"sid", sandbox.Hybrid, "2.", containerd2, true, containerd.two},
		{"sid", sandbox.V2, "2.", containerd2, true, containerd.two},
		{"trixie", sandbox.Hybrid, "1.7.", containerd1 + enableCDI, true, containerd.one},
		{"trixie", sandbox.V2, "1.7.", containerd1 + enableCDI, true, containerd.one},
		{"trixie", sandbox.V1, "1.7.", containerd1, false, containerd.off},
		{containerd16, sandbox.V1, "1.6.32", containerd1 + enableCDI, false, containerd.off},
	}
	for _, row := range rows {
		t.Run(fmt.Sprintf("%s/%s/cdi=%t", row.suite, row.layout, row.cdi), func(t *testing.T) {
			t.Parallel()
			h := newHost(t, row.suite, row.layout)
			row.journey(h.criPod(t, row.version, row.config), t)
		})
	}
}

// containerd starts a containerd of that version with the test image, for ctr and the CRI.
func (h *host) containerd(t *testing.T, want, config string) *cri.Client {
	t.Helper()
	h.write(t, "/etc/containerd/config.toml", config)
	client, _ := h.containerdBy(t, want)
	return client
}

// containerdBy starts containerd with the configuration that is there.
func (h *host) containerdBy(t *testing.T, want string) (*cri.Client, *daemon) {
	t.Helper()
	client, err := cri.Dial(h.Path("/run/containerd/containerd.sock"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	var name, version string
	d := h.daemon(t, func(ctx context.Context) (err error) {
		name, version, err = client.Version(ctx)
		return err
	}, "containerd")
	assertVersion(t, name, version, want)
	h.must(t, nil, "ctr", "--namespace", "k8s.io", "images", "import", imageFile)
	return client, d
}

// criPod starts a containerd with a pod in it.
func (h *host) criPod(t *testing.T, want, config string) containerd {
	t.Helper()
	pod, err := h.containerd(t, want, config).Pod(t.Context(), h.Cgroup())
	if err != nil {
		t.Fatal(err)
	}
	return containerd{h, pod}
}

// containerd is a running containerd with a pod in it.
type containerd struct {
	*host
	pod *cri.Pod
}

// two is containerd 2.x, which knows CDI in the CRI and in ctr.
func (c containerd) two(t *testing.T) {
	t.Run("CRI", c.viaCRI)
	t.Run("ctr", c.viaCtr)
}

// one is containerd 1.x, which knows CDI in the CRI alone.
func (c containerd) one(t *testing.T) {
	t.Run("CRI", c.viaCRI)
	t.Run("ctr must fail", func(t *testing.T) {
		if r := c.ctr(t, c.inbox(t), []string{"--device", c.cdiNames([]int{0})[0]}, "look"); r.code == 0 || !strings.Contains(r.stderr, "no such file") {
			t.Errorf("want ctr to take the CDI name for a path and fail: %v", r)
		}
	})
}

// off is containerd 1.x as it comes: the same request is silently ignored. If a GPU shows
// here, the rows with CDI on prove nothing.
func (c containerd) off(t *testing.T) {
	c.sees(t, c.look(t, cri.Container{Name: "off", CDI: c.cdiNames([]int{0, 1})}), nil)
}

func (c containerd) start(t *testing.T, in inbox, want cri.Container, probe ...string) (*cri.Running, error) {
	t.Helper()
	want.Image, want.Command = imageRef, append([]string{"/probe"}, probe...)
	want.Mounts = maps.Clone(want.Mounts)
	if want.Mounts == nil {
		want.Mounts = map[string]string{}
	}
	want.Mounts[report.Dir] = in.dir
	return c.pod.Start(t.Context(), want)
}

func (c containerd) look(t *testing.T, want cri.Container) report.Report {
	t.Helper()
	in := c.inbox(t)
	running, err := c.start(t, in, want, append([]string{"look"}, c.numbers(t)...)...)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	code, err := running.Wait(ctx)
	if err != nil || code != 0 {
		t.Fatalf("the probe ends with exit code %d (%v)", code, err)
	}
	return in.report(t)
}

// viaCRI is what a pod relies on.
func (c containerd) viaCRI(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	t.Run("no GPU asked, none given", func(t *testing.T) {
		c.sees(t, c.look(t, cri.Container{Name: "none"}), nil)
	})
	t.Run("four GPUs", func(t *testing.T) {
		gpus := c.pick(t, 4)
		c.sees(t, c.look(t, cri.Container{Name: "four", CDI: c.cdiNames(gpus)}), gpus)
	})
	t.Run("by index", func(t *testing.T) {
		c.sees(t, c.look(t, cri.Container{Name: "index", CDI: []string{"metax-tech.com/gpu=7"}}), []int{7})
	})
	t.Run("non-root user", func(t *testing.T) {
		c.sees(t, c.look(t, cri.Container{Name: "user", CDI: c.cdiNames([]int{1, 5}), User: 1000}), []int{1, 5})
	})
	t.Run("exit code", func(t *testing.T) {
		running, err := c.start(t, c.inbox(t), cri.Container{Name: "exit", CDI: c.cdiNames([]int{0})}, "exit", "42")
		if err != nil {
			t.Fatal(err)
		}
		if code, err := running.Wait(ctx); code != 42 || err != nil {
			t.Errorf("exit code %d (%v), want 42", code, err)
		}
	})
	t.Run("signal", func(t *testing.T) {
		in := c.inbox(t)
		running, err := c.start(t, in, cri.Container{Name: "signal", CDI: c.cdiNames([]int{0})}, "wait")
		if err != nil {
			t.Fatal(err)
		}
		if err := in.waiting(ctx); err != nil {
			t.Fatal(err)
		}
		if err := running.Stop(ctx, time.Minute); err != nil {
			t.Fatal(err)
		}
		if code, err := running.Wait(ctx); code != report.TermCode || err != nil {
			t.Errorf("SIGTERM ends it with exit code %d (%v), want the probe's %d", code, err, report.TermCode)
		}
	})
	t.Run("unknown device must fail", func(t *testing.T) {
		_, err := c.start(t, c.inbox(t), cri.Container{Name: "unknown", CDI: []string{"metax-tech.com/gpu=99"}}, "look")
		if err == nil || !strings.Contains(err.Error(), "unresolvable CDI devices") {
			t.Errorf("want unresolvable CDI devices, got %v", err)
		}
	})
}

// ctr runs the probe by containerd's own client.
func (c containerd) ctr(t *testing.T, in inbox, options []string, probe ...string) result {
	t.Helper()
	id := strings.TrimPrefix(strings.ReplaceAll(in.dir, "/", "-"), "-")
	argv := append([]string{
		"ctr", "--namespace", "k8s.io", "run", "--rm", "--cgroup", c.Cgroup() + "/" + id,
		"--mount", "type=bind,options=rbind:rw,src=" + in.dir + ",dst=" + report.Dir,
	}, options...)
	return c.run(t, nil, append(append(argv, imageRef, id, "/probe"), probe...)...)
}

// viaCtr is what "ctr run --device" gives.
func (c containerd) viaCtr(t *testing.T) {
	devices := func(names ...string) []string {
		var options []string
		for _, name := range names {
			options = append(options, "--device", name)
		}
		return options
	}
	look := func(t *testing.T, options []string) report.Report {
		t.Helper()
		in := c.inbox(t)
		if r := c.ctr(t, in, options, append([]string{"look"}, c.numbers(t)...)...); r.code != 0 {
			t.Fatal(r)
		}
		return in.report(t)
	}
	t.Run("no GPU asked, none given", func(t *testing.T) {
		c.sees(t, look(t, nil), nil)
	})
	t.Run("four GPUs", func(t *testing.T) {
		gpus := c.pick(t, 4)
		c.sees(t, look(t, devices(c.cdiNames(gpus)...)), gpus)
	})
	t.Run("non-root user", func(t *testing.T) {
		c.sees(t, look(t, append(devices(c.cdiNames([]int{2})...), "--user", "1000:1000")), []int{2})
	})
	t.Run("exit code", func(t *testing.T) {
		if r := c.ctr(t, c.inbox(t), devices(c.cdiNames([]int{0})...), "exit", "42"); r.code != 42 {
			t.Errorf("want exit code 42: %v", r)
		}
	})
	t.Run("unknown device must fail", func(t *testing.T) {
		if r := c.ctr(t, c.inbox(t), devices("metax-tech.com/gpu=99"), "look"); r.code == 0 || !strings.Contains(r.stderr, "unresolvable CDI devices") {
			t.Errorf("want unresolvable CDI devices: %v", r)
		}
	})
}
