// SPDX-License-Identifier: Apache-2.0

// Package picture draws how the GPUs of a node are linked: as a matrix, a tree or an SVG.
//
// A View is what is drawn: a node, and marks on its GPUs. A mark is a state of a GPU that a
// picture shows, such as picked, in use or unhealthy, by a word and, in an SVG, a sign.
//
// It is pure. What links GPUs, and how well, is up to package topology.
package picture
