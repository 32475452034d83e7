// SPDX-License-Identifier: Apache-2.0

// Package inspected reads what clients without a daemon print of their containers: podman
// inspect, and nerdctl inspect --mode=native.
package inspected

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/dockerd"
	"github.com/metax-ctk/container-toolkit/internal/holders"
	"github.com/metax-ctk/container-toolkit/internal/holders/docker"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// The engines' names, as in usage.Container.
const (
	podman     = "podman"
	containerd = "containerd"
)

// Args returns the words after the client's name that inspect a container; the engine is
// podman or containerd.
func Args(engine, container string) []string {
	if engine == podman {
		return []string{"inspect", "--type=container", "--", container}
	}
	return []string{"inspect", "--type=container", "--mode=native", container}
}

var errNotOne = errors.New("want the description of one container")

// Container reads what the client of the engine printed for Args.
func Container(engine string, text []byte, devices holders.Devices) (usage.Container, error) {
	read := fromPodman
	if engine == containerd {
		read = fromNerdctl
	}
	c, err := read(text, devices)
	if err == nil && c.ID == "" {
		err = errNotOne
	}
	if err != nil {
		return usage.Container{}, fmt.Errorf("read the description of a container by %s: %w", engine, err)
	}
	return c, nil
}

// states are Podman's words that are not docker's.
var states = map[string]string{
	"configured": "created", "initialized": "created", "stopped": "exited", "stopping": "running", "unknown": "exited",
}

func fromPodman(text []byte, devices holders.Devices) (usage.Container, error) {
	var list []struct {
		dockerd.Container
		Config struct {
			Image         string
			Labels        map[string]string
			Env           []string
			CreateCommand []string
		}
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return usage.Container{}, err
	}
	if len(list) != 1 {
		return usage.Container{}, errNotOne
	}
	c := list[0].Container
	c.Config.Image, c.Config.Labels, c.Config.Env = list[0].Config.Image, list[0].Config.Labels, list[0].Config.Env
	if word, ok := states[c.State.Status]; ok {
		c.State.Status = word
	}
	// HostConfig.Devices has what the device numbers mean now, and no CDI device.
	words := list[0].Config.CreateCommand
	for i, word := range words {
		value, ok := strings.CutPrefix(word, "--device=")
		if word == "--device" && i+1 < len(words) {
			value, ok = words[i+1], true
		}
		switch {
		case !ok: // no device
		case strings.HasPrefix(value, "/"):
			path, _, _ := strings.Cut(value, ":")
			c.HostConfig.Devices = append(c.HostConfig.Devices, dockerd.Device{PathOnHost: path})
		default:
			c.HostConfig.DeviceRequests = append(c.HostConfig.DeviceRequests,
				dockerd.DeviceRequest{Driver: "cdi", DeviceIDs: []string{value}})
		}
	}
	found := docker.FromInspection(c, devices)
	found.Engine, found.Keeps = podman, false // only podman-restart.service starts it again
	return found, nil
}

func fromNerdctl(text []byte, devices holders.Devices) (usage.Container, error) {
	var list []struct {
		ID, Image string
		Labels    map[string]string
		CreatedAt time.Time
		Spec      json.RawMessage
		Process   *struct {
			Pid    int
			Status struct{ Status string }
		}
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return usage.Container{}, err
	}
	if len(list) != 1 {
		return usage.Container{}, errNotOne
	}
	record := list[0]
	facts, err := devices.Bundle(record.Spec, true)
	if err != nil {
		return usage.Container{}, err
	}
	facts.Name, facts.Image, facts.Created = record.Labels["nerdctl/name"], record.Image, record.CreatedAt
	if id := record.Labels[usage.LeaseLabel]; id != "" {
		facts.Lease = id
	}
	c := usage.Container{
		Engine: containerd, Namespace: record.Labels["nerdctl/namespace"], ID: record.ID, Facts: facts,
		State: usage.Exited,
	}
	if facts.GPUs != nil { // else an image may have the labels
		c.Given = usage.GivenBy(record.Labels, nil)
	}
	if p := record.Process; p != nil && p.Pid != 0 {
		switch p.Status.Status {
		case "running", "paused", "pausing":
			c.State, c.Init = usage.Running, p.Pid
		}
	}
	return c, nil
}
