// SPDX-License-Identifier: Apache-2.0

// Package label decides which labels a Kubernetes node with MetaX GPUs has. Of renders a Node
// as labels; State counts the readings that it takes before a node is said to have no GPU;
// Plan compares the wanted labels with those of the node object and with who wrote them.
//
// All of it is pure: package labeler reads the host and writes the labels.
//
// The names and values are those of MetaX's manual (table 2.7). A label says something that is
// true for each GPU of the node. Where GPUs differ, or nothing is known, there is no label.
package label
