// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"strings"
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/engine"
)

// TestDockerFlags: dockerd accepts a setting on its command line or in its file, not in
// both.
func TestDockerFlags(t *testing.T) {
	for name, tc := range map[string]struct {
		cmdline, file string
		setup         engine.Setup
		options       Options
		want          string // in the error
	}{
		"none": {"dockerd\x00-H\x00fd://\x00", "", engine.Setup{Default: true, CDI: true, SpecDirs: []string{"/x"}}, Options{}, ""},
		"default runtime": {
			"/usr/bin/dockerd\x00--default-runtime=nvidia\x00", "", engine.Setup{Default: true}, Options{}, "with --default-runtime=nvidia, and would not start",
		},
		"another runtime than the default":  {"dockerd\x00--default-runtime=nvidia\x00", "", engine.Setup{}, Options{}, ""},
		"directories":                       {"dockerd\x00--cdi-spec-dir\x00/y\x00", "", engine.Setup{SpecDirs: []string{"/x"}}, Options{}, "--cdi-spec-dir=/y"},
		"features":                          {"dockerd\x00--feature\x00cdi=true\x00", "", engine.Setup{CDI: true}, Options{}, "--feature=cdi=true"},
		"features that stand in the file":   {"dockerd\x00--feature\x00x=true\x00", `{"features":{"cdi":false}}`, engine.Setup{CDI: true}, Options{}, ""},
		"another file":                      {"dockerd\x00--config-file\x00/etc/d.json\x00", "", engine.Setup{}, Options{}, "--config /etc/d.json"},
		"another file, named":               {"dockerd\x00--config-file\x00/etc/d.json\x00", "", engine.Setup{}, Options{Config: "/etc/d.json"}, ""},
		"a process that has its number now": {"sleep\x00--default-runtime=x\x00", "", engine.Setup{Default: true}, Options{}, ""},
		"an option without a value":         {"dockerd\x00--default-runtime", "", engine.Setup{Default: true}, Options{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{"/run/docker.pid": "12\n", "/proc/12/cmdline": tc.cmdline}
			if tc.file != "" {
				files["/etc/docker/daemon.json"] = tc.file
			}
			tc.options.Version = engine.Version{Major: 26, Minor: 1}
			e, err := newHost(t, files).Named(t.Context(), "docker", tc.options)
			if err != nil {
				t.Fatal(err)
			}
			tc.setup.Name, tc.setup.Runtime = "metax", "/m"
			_, err = e.Configure(tc.setup)
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("%v, want %q", err, tc.want)
			}
		})
	}
}
