// Package hookfile holds the files by which Podman and CRI-O learn of metax-hook
// (hooks.d, schema 1.0.0): what stands in one, and which are ours. They are JSON,
// which has no comments; a file is ours if its name is and it runs a metax-hook.
//
// Where engines look for them is the business of the editors.
package hookfile
