// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/test/testfile"
)

// specs writes a CDI spec whose only device is /dev/null under another name.
func specs(t *testing.T, edits string) string {
	t.Helper()
	dir := t.TempDir()
	text := fmt.Sprintf(`{"cdiVersion": "0.7.0", "kind": "metax-tech.com/gpu", "devices": [{"name": "0", "containerEdits": %s}]}`, edits)
	testfile.Write(t, filepath.Join(dir, "gpu.json"), text, 0o644)
	return dir
}

const nullAsGPU = `{"deviceNodes": [{"path": "/dev/dri/card0", "hostPath": "/dev/null", "permissions": "rw"}], "env": ["MACA=1"],
	"mounts": [{"hostPath": "/opt", "containerPath": "/opt/maca", "options": ["bind", "ro"]}], "additionalGids": [44]}`

// precreated runs the action as main does, but for the privileges.
func precreated(t *testing.T, config, dir string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	j := &job{in: strings.NewReader(config), out: &out, err: os.Stderr}
	err := precreate.run(j, map[string][]string{"spec-dir": {dir}})
	return out.String(), err
}

func TestPrecreateWithoutRequest(t *testing.T) {
	dir := specs(t, nullAsGPU)
	for _, config := range []string{
		"{}", " {\n\t\"process\" : {} , \"unknown\": [ 1.50, 1e3, \"\\u00e4\\/\" ] }\n\n", `{"annotations":{}}`,
		`{"annotations":{"metax-tech.com/gpu":"none","other":"metax-tech.com/gpu"}}`,
		`{"process":{"env":["METAX_VISIBLE_DEVICES=all"]}}`,
	} {
		if got, err := precreated(t, config, dir); err != nil || got != config {
			t.Errorf("%q comes out as %q, %v", config, got, err)
		}
	}
}

func TestPrecreate(t *testing.T) {
	dir := specs(t, nullAsGPU)
	const config = `{"ociVersion": "1.0.2", "unknown": 1.50, "annotations": {"metax-tech.com/gpu": "0"}, "process": {"user": {"uid": 0, "gid": 0}}, "linux": {}}`
	once, err := precreated(t, config, dir)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Unknown json.RawMessage
		Process struct {
			Env  []string
			User struct{ AdditionalGids []int }
		}
		Mounts []struct{ Destination string }
		Linux  struct {
			Devices []struct {
				Path         string
				Major, Minor int
			}
		}
	}
	if err := json.Unmarshal([]byte(once), &got); err != nil {
		t.Fatal(err)
	}
	want := got
	want.Unknown = json.RawMessage("1.50")
	want.Process.Env, want.Process.User.AdditionalGids = []string{"MACA=1", "METAX_GPU_INDICES=0"}, []int{44}
	want.Mounts = []struct{ Destination string }{{"/opt/maca"}}
	want.Linux.Devices = []struct {
		Path         string
		Major, Minor int
	}{{"/dev/dri/card0", 1, 3}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if twice, err := precreated(t, once, dir); err != nil || twice != once {
		t.Errorf("the second time: %v, %s", err, cmp.Diff(once, twice))
	}
}

// TestPrecreateYAML: a spec may be YAML, of any vendor.
func TestPrecreateYAML(t *testing.T) {
	dir := t.TempDir()
	const spec = "cdiVersion: 0.6.0\nkind: vendor.com/nic\ndevices:\n- {name: a, containerEdits: {env: [NIC=1]}}\n"
	testfile.Write(t, filepath.Join(dir, "nic.yaml"), spec, 0o644)
	got, err := precreated(t, `{"annotations": {"cdi.k8s.io/a": "vendor.com/nic=a"}, "process": {}}`, dir)
	if err != nil || !strings.Contains(got, `"NIC=1"`) {
		t.Errorf("%s, %v", got, err)
	}
}

// TestPrecreateTrouble: after an error there is no output that an engine could use as a
// config.
func TestPrecreateTrouble(t *testing.T) {
	dir := specs(t, nullAsGPU)
	gone := specs(t, `{"deviceNodes": [{"path": "/dev/dri/card0", "hostPath": "/dev/none"}]}`)
	open, spoilt := specs(t, nullAsGPU), specs(t, nullAsGPU)
	if err := errors.Join(os.Chmod(open, 0o777), os.Chmod(filepath.Join(spoilt, "gpu.json"), 0o666)); err != nil {
		t.Fatal(err)
	}
	const one = `{"annotations": {"metax-tech.com/gpu": "0"}}`
	for name, tt := range map[string]struct{ config, dir, says string }{
		"for everybody": {one, spoilt, "group or others may write to \"" + spoilt + "/gpu.json\" (mode 0666)"}, "in a place for everybody": {one, open, "\"" + open + "\" (mode 0777)"},
		"no JSON":      {`{"annotations": {"metax-tech.com/gpu": "0"}`, dir, "config.json"},
		"unknown GPU":  {`{"annotations": {"metax-tech.com/gpu": "7"}}`, dir, "metax-tech.com/gpu=7"},
		"malformed":    {`{"annotations": {"metax-tech.com/gpu": "0,,1"}}`, dir, "metax-tech.com/gpu"},
		"missing node": {`{"annotations": {"metax-tech.com/gpu": "0"}}`, gone, "/dev/none"},
		"no specs":     {`{"annotations": {"metax-tech.com/gpu": "0"}}`, t.TempDir(), "metax-tech.com/gpu=0"},
		"too large":    {`{"x": "` + strings.Repeat("x", 16<<20) + `"}`, dir, "standard input"},
	} {
		if got, err := precreated(t, tt.config, tt.dir); err == nil || got != "" || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %.60q, %v", name, got, err)
		}
	}
}
