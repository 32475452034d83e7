// SPDX-License-Identifier: Apache-2.0

package cdi

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	specs "tags.cncf.io/container-device-interface/specs-go"

	"github.com/metax-ctk/container-toolkit/test/testfile"
)

// foreign is of the toolkit's kind, and in the form that gpustack/runtime writes.
const foreign = `cdiVersion: 0.5.0
kind: metax-tech.com/gpu
containerEdits:
  env: ["CUDA_VISIBLE_DEVICES=void"]
  deviceNodes: [{path: /dev/mxcd}]
devices:
- name: "0"
  containerEdits: {deviceNodes: [{path: /dev/dri/card0}, {path: /dev/dri/renderD128}]}
- name: all
  containerEdits: {deviceNodes: [{path: /dev/dri/card0}, {path: /dev/dri/renderD128}]}
`

// firstVersion is a device as the first version of the toolkit wrote it.
const firstVersion = `{"cdiVersion": "0.7.0", "kind": "metax-tech.com/gpu", "devices": [{"name": "0", "containerEdits": {
	"deviceNodes": [{"path": "/dev/dri/card1", "permissions": "rw"}], "additionalGids": [44]}}]}`

func TestIsOwn(t *testing.T) {
	for name, opt := range map[string]Options{
		"plain": {}, "with the hook": {Hook: "/usr/bin/metax-hook"}, "without groups": {NoGroups: true},
		"below a root": {EngineRoot: "/srv/node"}, "by index": {Names: ByIndex}, "another kind": {Vendor: "a.org", Class: "b"},
	} {
		spec := generated(t, twoGPUs(), opt)
		if !IsOwn(spec) {
			t.Errorf("%s: %+v is another program's", name, spec)
		}
		if version, _ := specs.MinimumRequiredVersion(spec); opt.NoGroups && version != "0.5.0" {
			t.Errorf("%s: needs CDI %s", name, version)
		}
	}
	if !IsOwn(&specs.Spec{Kind: Kind(DefaultVendor, SoftwareClass)}) {
		t.Error("MXMACA is another program's")
	}
	for text, want := range map[string]bool{
		firstVersion: true,
		foreign:      false,
		// in the form of AMD's toolkit
		strings.Replace(firstVersion, `"permissions"`, `"type": "c", "major": 226, "minor": 1, "fileMode": 432, "permissions"`, 1):  false,
		strings.Replace(firstVersion, `"additionalGids"`, `"env": ["A=1"], "additionalGids"`, 1):                                    false,
		strings.Replace(firstVersion, `"devices"`, `"annotations": {"author": "x"}, "devices"`, 1):                                  false,
		strings.Replace(firstVersion, `"additionalGids"`, `"hooks": [{"hookName": "prestart", "path": "/x"}], "additionalGids"`, 1): false,
	} {
		spec, err := Decode([]byte(text))
		if err != nil || IsOwn(spec) != want {
			t.Errorf("%v: %v, want %v of\n%s", err, !want, want, text)
		}
	}
}

// TestForeignStays: another program's file stays, also at the path that cdi generate uses.
func TestForeignStays(t *testing.T) {
	path := filepath.Join(t.TempDir(), "metax-tech.com-gpu.json")
	testfile.Write(t, path, foreign, 0o644)
	spec := generated(t, twoGPUs(), Options{})
	if changed, err := Write(path, spec, JSON); changed || err == nil || !strings.Contains(err.Error(), path+" is another program's; not overwritten") {
		t.Errorf("write: %v, %v", changed, err)
	}
	if removed, err := Remove(path, spec.Kind); removed || err != nil {
		t.Errorf("remove: %v, %v", removed, err)
	}
	if now, err := os.ReadFile(path); err != nil || string(now) != foreign {
		t.Errorf("%v, the file is now %s", err, now)
	}
}
