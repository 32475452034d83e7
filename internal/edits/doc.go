// Package edits is what a container gets with GPUs, slices of GPUs and MXMACA, as one
// value: device nodes, mounts, groups, variables, links and directories of libraries.
//
// Common, GPU, Slice and MACA make the value of what was chosen on a node, and Join puts
// several together. What an engine reads is a rendering of the value: CDI
// specs (internal/cdi), docker's options (internal/dockerargs), the services of a
// compose project (internal/compose). Below, ByName and ByValue are small changes
// between the two.
//
// The package is pure. It does not find GPUs (discover), choose them (alloc), or find out
// which rendering an engine understands (inject).
package edits
