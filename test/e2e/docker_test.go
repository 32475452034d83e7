// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"testing"

	"github.com/metax-ctk/container-toolkit/test/sandbox"
)

func TestDocker(t *testing.T) {
	const unresolvable = "unresolvable CDI devices"
	rows := []struct {
		suite   string
		layout  sandbox.Layout
		version string
		feature string // "cdi" of daemon.json's features, empty where it is not set
		cdi     bool
		groups  bool // those of a spec reach the process, also with --user
		unknown string
	}{
		{docker29, sandbox.Hybrid, "29.8.", "", true, true, unresolvable},
		{docker29, sandbox.V2, "29.8.", "", true, true, unresolvable},
		{"sid", sandbox.Hybrid, "28.", "", true, false, unresolvable},
		{"sid", sandbox.V2, "28.", "", true, false, unresolvable},
		{"trixie", sandbox.Hybrid, "26.1.", "true", true, false, unresolvable},
		{"trixie", sandbox.V2, "26.1.", "true", true, false, unresolvable},
		{"trixie", sandbox.V1, "26.1.", "", false, false, `could not select device driver "cdi"`},
		{"bookworm", sandbox.Hybrid, "20.10.", "", false, false, "is not an absolute path"},
		{"bookworm", sandbox.V1, "20.10.", "", false, false, "is not an absolute path"},
		{"bookworm", sandbox.V2, "20.10.", "", false, false, "is not an absolute path"},
	}
	for _, row := range rows {
		t.Run(fmt.Sprintf("%s/%s/cdi=%t", row.suite, row.layout, row.cdi), func(t *testing.T) {
			t.Parallel()
			h := newHost(t, row.suite, row.layout)
			config := map[string]any{}
			if row.feature != "" {
				config["features"] = map[string]bool{"cdi": row.feature == "true"}
			}
			h.docker(t, row.version, config)
			auto := "flags"
			if row.cdi {
				auto = "cdi"
			}
			w := wrapper{host: h, client: "docker", cdi: row.cdi, auto: auto, unknown: row.unknown}
			w.journey(t)
			if row.cdi {
				t.Run("docker's own --gpus", func(t *testing.T) {
					r := w.alone(t, "--gpus=driver=cdi,device=metax-tech.com/gpu=2")
					w.sees(t, r, []int{2})
					if slices.Contains(r.Groups, videoGID) != row.groups {
						t.Errorf("the user is in groups %v; want %d among them: %t", r.Groups, videoGID, row.groups)
					}
					w.sees(t, w.alone(t, `--gpus=driver=cdi,"device=metax-tech.com/gpu=2,metax-tech.com/gpu=5"`), []int{2, 5})
				})
			}
		})
	}
}

// docker starts a docker daemon of that version with the test image, configured as it has to
// be in a sandbox and further by config; options are words for its command line.
func (h *host) docker(t *testing.T, version string, config map[string]any, options ...string) *daemon {
	t.Helper()
	h.configure(t, config)
	var got string
	d := h.daemon(t, func(ctx context.Context) (err error) {
		got, err = dockerVersion(ctx, h.Path("/run/docker.sock"))
		return err
	}, append([]string{"dockerd"}, options...)...)
	assertVersion(t, "docker", got, version)
	h.must(t, nil, "docker", "load", "--quiet", "--input", imageFile)
	return d
}

// configure writes the configuration of the docker daemon.
func (h *host) configure(t *testing.T, config map[string]any) {
	t.Helper()
	all := map[string]any{
		"bridge": "none", "iptables": false, "ip6tables": false,
		"storage-driver": "overlay2", "cgroup-parent": h.Cgroup(),
	}
	if h.stock {
		delete(all, "storage-driver")
	}
	maps.Copy(all, config)
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	h.write(t, "/etc/docker/daemon.json", string(text))
}

// dockerVersion asks the daemon, not the client that happens to be in the PATH.
func dockerVersion(ctx context.Context, socket string) (string, error) {
	client := http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		},
	}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://docker/version", nil)
	if err != nil {
		return "", err
	}
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	var answer struct{ Version string }
	err = json.NewDecoder(response.Body).Decode(&answer)
	return answer.Version, err
}
