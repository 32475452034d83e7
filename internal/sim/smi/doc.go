// SPDX-License-Identifier: Apache-2.0

// Package smi is the mx-smi of a simulated node: it prints what the vendor's tool would for
// the GPUs whose render nodes exist, in a container those that it was given, numbered from 0,
// and makes and removes the slices of the host tree that it lies in. What it says of the node
// is in a file of the tree, Facts, which can be edited.
//
// The formats are those of mx-smi 2.2.9 where they are published (-L, topo, the table). The
// sections of --show-… have the general form, and the field names that other programs search
// for.
package smi
