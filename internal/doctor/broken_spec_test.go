// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"os"
	"strings"
	"time"

	specs "tags.cncf.io/container-device-interface/specs-go"

	"github.com/metax-ctk/container-toolkit/internal/cdi"
	"github.com/metax-ctk/container-toolkit/internal/discover/maca"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/sim"
)

const otherSpec = `{"cdiVersion": "0.6.0", "kind": "other.com/gpu", "devices": [{"name": "0", "containerEdits": {"env": ["OTHER=1"]}}]}`

// foreignSpec is of the toolkit's kind, and in the form that gpustack/runtime writes.
const foreignSpec = `cdiVersion: 0.5.0
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

// brokenSpecs are nodes whose CDI specs or record are broken.
var brokenSpecs = []brokenNode{
	{
		check: "spec-dirs", severity: Warning, what: "/etc/cdi: no such directory", fix: "mkdir -p DIR/etc/cdi",
		tree: func(b *bench) { b.drop("etc/cdi") },
	},
	{
		check: "spec-present", severity: Error, what: "no CDI spec of kind metax-tech.com/gpu in /etc/cdi, /var/run/cdi", fix: "metax-ctk --root DIR cdi generate",
		host: func(b *bench) { b.must(os.Remove(b.path(gpuSpec))) },
	},
	{
		check: "spec-readable", severity: Error, what: "metax-tech.com-gpu.json", fix: "chmod 0644 DIR/" + gpuSpec,
		host: func(b *bench) { b.must(os.Chmod(b.path(gpuSpec), 0o600)) },
	},
	{
		check: "spec-writable", severity: Error, what: "DIR/etc/cdi/other.json: group or others may write to it (mode 0666)",
		fix: "chown root:root DIR/etc/cdi/other.json && chmod go-w DIR/etc/cdi/other.json",
		host: func(b *bench) {
			b.put("/etc/cdi/other.json", otherSpec)
			b.must(os.Chmod(b.path("etc/cdi/other.json"), 0o666))
		},
	},
	{
		check: "spec-writable", name: "directory", severity: Error, what: "DIR/etc/cdi: group or others may write to it (mode 1777)",
		fix:  "chown root:root DIR/etc/cdi && chmod go-w DIR/etc/cdi",
		host: func(b *bench) { b.must(os.Chmod(b.path("etc/cdi"), 0o777|os.ModeSticky)) },
	},
	{
		check: "spec-kind", severity: Error, what: `DIR/etc/cdi/other.json: kind "o/gpu" has a vendor or class of one letter: Docker with CDI up to 29.7 and every engine`,
		fix:  "mv DIR/etc/cdi/other.json DIR/etc/cdi/other.json.broken",
		host: func(b *bench) { b.put("/etc/cdi/other.json", strings.Replace(otherSpec, "other.com", "o", 1)) },
	},
	{
		check: "spec-form", severity: Error, what: "etc/cdi/other.json", fix: "mv DIR/etc/cdi/other.json DIR/etc/cdi/other.json.broken",
		host: func(b *bench) { b.put("/etc/cdi/other.json", `{"cdiVersion": "0.6.0", "kind": "other.com/gpu",`) },
	},
	{
		check: "spec-form", name: "ours", severity: Error, what: gpuSpec, fix: "rm DIR/" + gpuSpec + " && metax-ctk --root DIR cdi generate",
		host: func(b *bench) { b.put(gpuSpec, "{}") },
	},
	{
		check: "spec-conflict", severity: Error, what: "/var/run/cdi/a.json and /var/run/cdi/metax-tech.com-gpu.json both define metax-tech.com/gpu=0", fix: "rm DIR/var/run/cdi/a.json",
		host: func(b *bench) { b.copy(gpuSpec, "var/run/cdi/a.json") },
	},
	{
		check: "spec-conflict", name: "another program's", severity: Error,
		what: "/var/run/cdi/metax-tech.com-gpu.json and /var/run/cdi/metax-tech.com-gpu.yaml both define metax-tech.com/gpu=0",
		fix:  "# DIR/var/run/cdi/metax-tech.com-gpu.yaml is another program's: stop one of the two programs, then remove its file",
		host: func(b *bench) { b.put("var/run/cdi/metax-tech.com-gpu.yaml", foreignSpec) },
	},
	{
		check: "spec-present", name: "another program's", severity: Warning,
		what: "the only CDI spec of kind metax-tech.com/gpu, DIR/var/run/cdi/metax-tech.com-gpu.yaml, is another program's",
		fix:  "# DIR/var/run/cdi/metax-tech.com-gpu.yaml is another program's: stop one of the two programs, then remove its file; then: metax-ctk --root DIR cdi generate",
		host: func(b *bench) {
			b.must(os.Remove(b.path(gpuSpec)))
			b.put("var/run/cdi/metax-tech.com-gpu.yaml", foreignSpec)
		},
	},
	{
		check: "spec-shadowed", severity: Warning, what: "/etc/cdi/metax.json also defines metax-tech.com/gpu=0, but /var/run/cdi/metax-tech.com-gpu.json wins", fix: "rm DIR/etc/cdi/metax.json",
		host: func(b *bench) {
			b.facts(func(f *Facts) { f.Specs.Ours[0].Drift = nil }) // it is stale as well
			b.copy(gpuSpec, "etc/cdi/metax.json")
			text, err := os.ReadFile(b.path("etc/cdi/metax.json"))
			b.must(err)
			b.put("etc/cdi/metax.json", strings.Replace(string(text), `"rw"`, `"r"`, 1))
		},
	},
	{
		check: "spec-drift", severity: Error, what: "is out of date (1 difference, first: mounts ", fix: "metax-ctk --root DIR cdi generate",
		host: func(b *bench) { b.edit(func(s *specs.Spec) { s.ContainerEdits.Mounts[0].Options[1] = "rw" }) },
	},
	{
		check: "spec-drift", name: "elsewhere", severity: Error, what: "etc/cdi/metax.json is out of date (",
		fix: "metax-ctk --root DIR cdi generate --class gpu --output DIR/etc/cdi/metax.json",
		host: func(b *bench) {
			b.edit(func(s *specs.Spec) { s.ContainerEdits.Mounts = nil })
			b.must(os.Rename(b.path(gpuSpec), b.path("etc/cdi/metax.json")))
		},
	},
	{
		check: "spec-drift", name: "shrinks", severity: Error, what: "first: device 8 is obsolete", fix: "metax-ctk --root DIR cdi generate",
		host: func(b *bench) {
			b.edit(func(s *specs.Spec) {
				more := s.Devices[0]
				more.Name = "8"
				s.Devices = append(s.Devices, more)
			})
		},
	},
	{
		check: "spec-drift", name: "gone", severity: Error, what: "metax-tech.com-maca.json: the node has nothing of kind metax-tech.com/maca any more", fix: "metax-ctk --root DIR cdi generate",
		host: func(b *bench) {
			b.software("")
			b.c.Want = func(node gpu.Node, opt cdi.Options) (*specs.Spec, error) {
				if opt.Class == cdi.SoftwareClass {
					return nil, maca.ErrNone
				}
				return cdi.Generate(node, opt)
			}
		},
	},
	{
		check: "spec-hooks", severity: Error, what: "no such file", fix: "metax-ctk --root DIR cdi generate",
		host: func(b *bench) { b.software(b.path("opt/gone/metax-hook")) },
	},
	{
		check: "spec-hooks", name: "of others", severity: Error, what: "users other than root may change it", fix: "chown root DIR/usr/bin/metax-hook && chmod 0755 DIR/usr/bin/metax-hook",
		host: func(b *bench) {
			b.software(b.path("usr/bin/metax-hook"))
			b.must(os.Chmod(b.path("usr/bin/metax-hook"), 0o777))
		},
	},
	{
		check: "spec-files", severity: Error, what: "there is nothing to mount", fix: "metax-ctk --root DIR cdi generate",
		host: func(b *bench) {
			b.software("")
			text, err := os.ReadFile(b.path(softwareSpec))
			b.must(err)
			b.put(softwareSpec, strings.Replace(string(text), "opt/maca-3.3.0.15", "opt/maca-9", 1))
		},
	},
	{
		check: "spec-groups", severity: Info, what: "was written without groups", fix: "metax-ctk --root DIR cdi generate",
		host: func(b *bench) { b.generate(cdi.Options{NoGroups: true}) },
	},
	{
		check: "spec-version", severity: Error, what: "has CDI version 0.7.0, but podman 4.3.1 reads only up to 0.5.0", fix: "metax-ctk --root DIR cdi generate --no-groups",
		tree: func(b *bench) { b.engine("podman", "4.3.1") },
	},
	{
		check: "cdi-names", severity: Error, what: "podman reads CDI specs in /etc/cdi and does not resolve metax-tech.com/gpu=0, metax-tech.com/gpu=1", fix: "metax-ctk --root DIR cdi generate --output DIR/etc/cdi/metax-tech.com-gpu.json",
		tree: func(b *bench) { b.engine("podman", "5.5.1") },
	},
	{
		check: "cdi-names", name: "docker", severity: Error, what: "docker reads CDI specs in /opt/cdi and does not resolve metax-tech.com/gpu=0", fix: "metax-ctk --root DIR cdi generate --output DIR/opt/cdi/metax-tech.com-gpu.json",
		tree: func(b *bench) { b.info["CDISpecDirs"] = []string{"/opt/cdi"} },
	},
	{
		check: "cdi-names", name: "conflict", severity: Error, what: "podman reads CDI specs in /opt/cdi and does not resolve metax-tech.com/gpu=0", fix: "metax-ctk --root DIR cdi generate --output DIR/opt/cdi/metax-tech.com-gpu.json",
		tree: func(b *bench) {
			b.tree["etc/containers/containers.conf"] = sim.File{Data: "[engine]\ncdi_spec_dirs = [\"/opt/cdi\"]\n"}
		},
		host: func(b *bench) { b.copy(gpuSpec, "opt/cdi/a.json"); b.copy(gpuSpec, "opt/cdi/b.json") },
	},
	{
		check: "record", severity: Warning, what: "node.json is missing", fix: "metax-ctk --root DIR cdi generate",
		host: func(b *bench) { b.must(os.Remove(b.path(recordPath))) },
	},
	{
		check: "record", name: "broken", severity: Error, what: "the record of the node cannot be read", fix: "rm DIR" + recordPath + " && metax-ctk --root DIR cdi generate",
		host: func(b *bench) { b.put(recordPath, "{") },
	},
	{
		check: "record", name: "early", severity: Warning, what: "was written before this boot", fix: "metax-ctk --root DIR cdi generate",
		tree: func(b *bench) {
			b.tree["proc/stat"] = sim.File{Data: fmt.Sprintf("btime %d\n", time.Now().Add(time.Hour).Unix())}
		},
	},
	{
		check: "record-drift", severity: Warning, what: "GPU " + bdf0 + " differs from its record", fix: "metax-ctk --root DIR cdi generate",
		host: func(b *bench) { b.record(func(n *gpu.Node) { n.GPUs[0].Healthy = false }) },
	},
	{
		check: "record-drift", name: "unknown", severity: Warning, what: "GPU 0000:38:00.0 is not in the record", fix: "metax-ctk --root DIR cdi generate",
		host: func(b *bench) { b.record(func(n *gpu.Node) { n.GPUs = n.GPUs[:7]; n.Links = nil }) },
	},
	{
		check: "cdi-names", name: "podman's own", severity: Error, what: "podman reads CDI specs in /opt/cdi and does not resolve metax-tech.com/gpu=0", fix: "metax-ctk --root DIR cdi generate --output DIR/opt/cdi/metax-tech.com-gpu.json",
		tree: func(b *bench) {
			b.tree["etc/containers/containers.conf"] = sim.File{Data: "[engine]\ncdi_spec_dirs = [\"/opt/cdi\"]\n"}
		},
	},
	{
		check: "cdi-names", name: "CRI-O's", severity: Error, what: "crio reads CDI specs in /opt/cdi and does not resolve metax-tech.com/gpu=0", fix: "metax-ctk --root DIR cdi generate --output DIR/opt/cdi/metax-tech.com-gpu.json",
		tree: func(b *bench) {
			b.tree["etc/crio/crio.conf"] = sim.File{Data: "[crio.runtime]\ncdi_spec_dirs = [\"/opt/cdi\"]\n"}
		},
	},
}
