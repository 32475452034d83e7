// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
)

const (
	// bundleDir is where Docker keeps its bundles: in memory.
	bundleDir = "/run/bench-bundle"
	// glibcRoot is a container's root with a dynamic linker.
	glibcRoot = "/run/bench-root"
	container = "metax-bench"
)

// bundle is an OCI bundle as Docker makes it.
type bundle struct {
	config map[string]any
}

// dockerBundle has Docker start a container, and takes its configuration for a bundle of our
// own: seccomp profile, masked paths and all, but no network and no engine's hooks.
func dockerBundle(image []string) (*bundle, error) {
	id, err := output("docker", append([]string{"run", "--detach", "--network=none", "--cgroup-parent=" + cgroup()}, image[0], "/probe", "pause")...)
	if err != nil {
		return nil, err
	}
	id = strings.TrimSpace(id)
	text, err := os.ReadFile(filepath.Join("/run/docker/containerd/daemon/io.containerd.runtime.v2.task/moby", id, "config.json"))
	if err != nil {
		return nil, err
	}
	if _, err := output("docker", "rm", "--force", id); err != nil {
		return nil, err
	}
	b := &bundle{}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&b.config); err != nil {
		return nil, fmt.Errorf("read a bundle of docker: %w", err)
	}
	delete(b.config, "hooks")
	b.config["root"] = map[string]any{"path": glibcRoot}
	linux, _ := b.config["linux"].(map[string]any)
	linux["cgroupsPath"] = cgroup() + "/" + container
	resources, _ := linux["resources"].(map[string]any)
	// In a cgroup tree without controllers no limit can be set; device rules need none.
	linux["resources"] = map[string]any{"devices": resources["devices"]}
	process, _ := b.config["process"].(map[string]any)
	delete(process, "rlimits")
	delete(process, "oomScoreAdj")
	// The files that an engine keeps for a container are gone with it.
	var mounts []any
	list, _ := b.config["mounts"].([]any)
	for _, m := range list {
		if entry, _ := m.(map[string]any); entry["type"] != "bind" {
			mounts = append(mounts, m)
		}
	}
	b.config["mounts"] = mounts
	return b, os.MkdirAll(bundleDir, 0o711)
}

// cgroup is the cgroup below which test/e2e has containers put.
func cgroup() string {
	text, err := os.ReadFile("/etc/docker/daemon.json")
	var daemon struct {
		Parent string `json:"cgroup-parent"`
	}
	if err := errors.Join(err, json.Unmarshal(text, &daemon)); err != nil {
		return "/metax-bench"
	}
	return daemon.Parent
}

// text is the configuration with further annotations and variables, and a program that runs
// as a prestart hook.
func (b *bundle) text(annotations map[string]string, env []string, hook ...string) ([]byte, error) {
	config := maps.Clone(b.config)
	all := map[string]any{}
	if old, ok := config["annotations"].(map[string]any); ok {
		maps.Copy(all, old)
	}
	for name, value := range annotations {
		all[name] = value
	}
	config["annotations"] = all
	old, _ := config["process"].(map[string]any)
	process := maps.Clone(old)
	list, _ := process["env"].([]any)
	list = list[:len(list):len(list)]
	for _, v := range env {
		list = append(list, v)
	}
	process["env"] = list
	config["process"] = process
	if len(hook) > 0 {
		config["hooks"] = map[string]any{"prestart": []any{
			map[string]any{"path": hook[0], "args": hook, "env": []string{"LC_ALL=C"}},
		}}
	}
	return json.Marshal(config)
}

// write puts a configuration into the bundle, as an engine does before a start.
func write(text []byte) func() error {
	return func() error { return os.WriteFile(filepath.Join(bundleDir, "config.json"), text, 0o600) }
}

// libraries is how many libraries the container's root has in libraryDir.
const (
	libraries  = 60
	libraryDir = "/opt/maca-bench/lib"
)

// grownRoot creates a container's root with the machine's dynamic linker and many
// libraries of different names.
func grownRoot() error {
	// A container's root is a mount, which peers' hooks demand.
	if err := errors.Join(os.MkdirAll(glibcRoot, 0o755), bind(glibcRoot, glibcRoot)); err != nil {
		return err
	}
	model, err := os.ReadFile(nodeDir + "/opt/maca/lib/libmccl.so")
	if errors.Is(err, fs.ErrNotExist) { // the node lies over the machine's own files
		model, err = os.ReadFile("/opt/maca-3.3.0.15/lib/libmccl.so")
	}
	if err != nil {
		return err
	}
	files := map[string][]byte{"/etc/ld.so.conf": []byte("include /etc/ld.so.conf.d/*.conf\n")}
	for i := range libraries {
		name := fmt.Sprintf("libmc%02d.so", i)
		files[libraryDir+"/"+name] = bytes.ReplaceAll(model, []byte("libmccl.so"), []byte(name))
	}
	for to, from := range map[string]string{
		"/probe":                          "/e2e/probe",
		"/lib64/ld-linux-x86-64.so.2":     "/lib64/ld-linux-x86-64.so.2",
		"/lib/x86_64-linux-gnu/libc.so.6": "/usr/lib/x86_64-linux-gnu/libc.so.6",
	} {
		if files[to], err = os.ReadFile(from); err != nil {
			return err
		}
	}
	for path, data := range files {
		at := glibcRoot + path
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, data, 0o755)); err != nil {
			return err
		}
	}
	for _, dir := range []string{"/dev", "/proc", "/sys", "/tmp", "/report", "/etc/ld.so.conf.d"} {
		if err := os.MkdirAll(glibcRoot+dir, 0o755); err != nil {
			return err
		}
	}
	return nil
}
