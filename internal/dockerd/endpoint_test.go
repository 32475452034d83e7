// SPDX-License-Identifier: Apache-2.0

package dockerd

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/metax-ctk/container-toolkit/test/testfile"
)

func TestEndpoint(t *testing.T) {
	home := t.TempDir()
	write := func(path, text string) {
		path = filepath.Join(home, path)
		testfile.Write(t, path, text, 0o644)
	}
	write(".docker/config.json", `{"currentContext":"lab","auths":{}}`)
	write(".docker/contexts/meta/"+digest("lab")+"/meta.json", `{"Endpoints":{"docker":{"Host":"ssh://lab"}}}`)
	write("other/config.json", `{}`)
	for name, tc := range map[string]struct {
		o    ClientOptions
		env  map[string]string
		want string
	}{
		"current context":       {ClientOptions{}, nil, "ssh://lab"},
		"config option":         {ClientOptions{ConfigDir: filepath.Join(home, "other")}, nil, defaultEndpoint},
		"DOCKER_CONFIG":         {ClientOptions{}, map[string]string{"DOCKER_CONFIG": filepath.Join(home, "other")}, defaultEndpoint},
		"DOCKER_HOST":           {ClientOptions{}, map[string]string{"DOCKER_HOST": "tcp://x:1"}, "tcp://x:1"},
		"host option":           {ClientOptions{Host: "/run/d.sock"}, map[string]string{"DOCKER_HOST": "tcp://x:1"}, "unix:///run/d.sock"},
		"context over the env":  {ClientOptions{Context: "default"}, map[string]string{"DOCKER_HOST": "tcp://x:1"}, defaultEndpoint},
		"DOCKER_CONTEXT":        {ClientOptions{}, map[string]string{"DOCKER_CONTEXT": "default"}, defaultEndpoint},
		"address without words": {ClientOptions{Host: "10.0.0.1:2375"}, nil, "tcp://10.0.0.1:2375"},
	} {
		t.Run(name, func(t *testing.T) {
			tc.o.Getenv = func(k string) string {
				if k == "HOME" {
					return home
				}
				return tc.env[k]
			}
			if got, _, err := Endpoint(tc.o); err != nil || got != tc.want {
				t.Errorf("got %q, %v; want %q", got, err, tc.want)
			}
		})
	}
	// Docker warns of a file that it cannot read, and takes the default.
	write("broken/config.json", "{")
	got, _, err := Endpoint(ClientOptions{ConfigDir: filepath.Join(home, "broken"), Getenv: func(string) string { return "" }})
	if err != nil || got != defaultEndpoint {
		t.Errorf("broken configuration: got %q, %v", got, err)
	}
	_, _, err = Endpoint(ClientOptions{Context: "gone", Getenv: func(string) string { return home }})
	if err == nil || !strings.Contains(err.Error(), `"gone"`) {
		t.Errorf("unknown context: %v", err)
	}
}
