// SPDX-License-Identifier: Apache-2.0

// Package edits describes what is injected into a container for its GPUs, slices and
// MXMACA, independent of any engine: device nodes, mounts, groups, variables, links and
// directories of libraries.
//
// Common, GPU, Slice and MACA build the Edits for a selection, and Join combines several.
// Other packages render Edits for an engine: as CDI specs (internal/cdi), docker's options
// (internal/dockerargs), or services of a compose project (internal/compose). Three methods
// of Edits adapt them first: Below puts a root in front of the host paths, ByName keeps
// only CDI names and groups, ByValue replaces the names by devices and mounts.
//
// The package is pure. It does not find GPUs (discover), choose them (alloc), or find out
// which rendering an engine understands (inject).
package edits
