// Package given looks at what a container was given of the node's GPUs, from inside, for the
// chart's test. It knows the variable and the device nodes; whether a GPU computes is not its concern.
package given

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
	Root string              // "/", or a directory that stands for it
	Env  func(string) string // os.Getenv
	Open func(string) error  // opens a device for reading and writing, and closes it
}

// Node is a device node, and what happened when it was opened.
type Node struct {
	Path string
	Err  error
}

// GPUs are the GPUs of a container by their UUIDs, and its device nodes by path.
type GPUs struct {
	UUIDs []string
	Nodes []Node
}

// Look opens every device node of GPUs that the container has.
func (c Container) Look() (GPUs, error) {
	var found GPUs
	for id := range strings.SplitSeq(c.Env(edits.UUIDsVariable), ",") {
		if id != "" {
			found.UUIDs = append(found.UUIDs, id)
		}
	}
	for _, pattern := range []string{"dev/mxcd", "dev/dri/card*", "dev/dri/renderD*"} {
		paths, err := filepath.Glob(filepath.Join(c.Root, pattern))
		if err != nil {
			return GPUs{}, err
		}
		for _, path := range paths {
			found.Nodes = append(found.Nodes, Node{path, c.Open(path)})
		}
	}
	return found, nil
}

// Check returns an error unless the container has that many GPUs, a node to compute on for each,
// and may open them all. A node that may be opened but whose driver does not answer is not an
// error: simulated GPUs are like that.
func (g GPUs) Check(want int) error {
	if len(g.UUIDs) > 0 && len(g.UUIDs) != want { // virtual functions have none
		return fmt.Errorf("%s names %d GPUs, want %d", edits.UUIDsVariable, len(g.UUIDs), want)
	}
	render := 0
	for _, n := range g.Nodes {
		if errors.Is(n.Err, syscall.EPERM) || errors.Is(n.Err, syscall.EACCES) {
			return n.Err
		}
		if strings.HasPrefix(filepath.Base(n.Path), "renderD") {
			render++
		}
	}
	if render != want {
		return fmt.Errorf("there are %d nodes /dev/dri/renderD*, want %d", render, want)
	}
	if !slices.ContainsFunc(g.Nodes, func(n Node) bool { return filepath.Base(n.Path) == "mxcd" }) {
		return errors.New("/dev/mxcd is missing")
	}
	return nil
}
