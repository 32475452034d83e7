// SPDX-License-Identifier: Apache-2.0

// Package insidelook looks at what a container was given of the node's GPUs, from inside, for
// the chart's test. It knows the variable and the device nodes; whether a GPU computes is not
// its concern.
package insidelook

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/metax-ctk/container-toolkit/internal/edits"
)

// Container is the container to look at.
type Container struct {
	Root    string              // "/", or a directory that stands for it
	HostDev string              // where the node's /dev is mounted below Root, to try what it was not given, or ""
	Env     func(string) string // os.Getenv
	Open    func(string) error  // opens a device for reading and writing, and closes it
}

// Node is a device node, and what happened when it was opened.
type Node struct {
	Path string
	Err  error
}

// name is the name of the node below /dev/dri, or mxcd.
func (n Node) name() string { return filepath.Base(n.Path) }

// refused reports whether the container may not open the node: its device cgroup, or the mode
// of the node, forbids it. After any other error the kernel had already allowed it.
func (n Node) refused() bool {
	return errors.Is(n.Err, syscall.EPERM) || errors.Is(n.Err, syscall.EACCES)
}

// GPUs are the GPUs of a container by their UUIDs, and device nodes by path.
type GPUs struct {
	UUIDs  []string
	Nodes  []Node // those of the container
	Others []Node // the other ones of the node, such as those of other GPUs, if there is HostDev
}

// Look opens every device node of GPUs that the container has, and the other ones below
// HostDev.
func (c Container) Look() (GPUs, error) {
	var found GPUs
	for id := range strings.SplitSeq(c.Env(edits.UUIDsVariable), ",") {
		if id != "" {
			found.UUIDs = append(found.UUIDs, id)
		}
	}
	var err error
	if found.Nodes, err = c.try("dev", "mxcd", "dri/card*", "dri/renderD*"); err != nil || c.HostDev == "" {
		return found, err
	}
	all, err := c.try(c.HostDev, "dri/card*", "dri/renderD*")
	if err == nil && len(all) == 0 {
		err = fmt.Errorf("%s has no device nodes of GPUs: it is not the node's /dev", c.HostDev)
	}
	for _, n := range all {
		if !slices.ContainsFunc(found.Nodes, func(own Node) bool { return own.name() == n.name() }) {
			found.Others = append(found.Others, n)
		}
	}
	return found, err
}

// try opens the device nodes that match patterns below a directory of the container.
func (c Container) try(dir string, patterns ...string) ([]Node, error) {
	var nodes []Node
	for _, pattern := range patterns {
		paths, err := filepath.Glob(filepath.Join(c.Root, dir, pattern))
		if err != nil {
			return nil, err
		}
		for _, path := range paths {
			nodes = append(nodes, Node{path, c.Open(path)})
		}
	}
	return nodes, nil
}

// Check returns an error unless the container has that many GPUs, a node to compute on for
// each, and may open them all, and no others. A node that may be opened but whose driver does
// not answer is not an error: simulated GPUs are like that.
func (g GPUs) Check(want int) error {
	if len(g.UUIDs) > 0 && len(g.UUIDs) != want { // virtual functions have none
		return fmt.Errorf("%s names %d GPUs, want %d", edits.UUIDsVariable, len(g.UUIDs), want)
	}
	render := 0
	for _, n := range g.Nodes {
		if n.refused() {
			return n.Err
		}
		if strings.HasPrefix(n.name(), "renderD") {
			render++
		}
	}
	if render != want {
		return fmt.Errorf("there are %d nodes /dev/dri/renderD*, want %d", render, want)
	}
	if !slices.ContainsFunc(g.Nodes, func(n Node) bool { return n.name() == "mxcd" }) {
		return errors.New("/dev/mxcd is missing")
	}
	if at := slices.IndexFunc(g.Others, func(n Node) bool { return !n.refused() }); at >= 0 {
		return fmt.Errorf("%s can be opened, but is not the container's", g.Others[at].name())
	}
	return nil
}
