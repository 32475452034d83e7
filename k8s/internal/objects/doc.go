// SPDX-License-Identifier: Apache-2.0

// Package objects has the objects of a cluster that say what its GPUs do: Nodes, pods, Events
// and the ConfigMap of modes, with the API server or a file of kubectl or of a bug report as
// their source.
//
// Of a node alone, the API server also asks metax-exporter for the clocks of its GPUs. Nothing
// else is read: neither the kubelet nor a node. What an annotation says is up to
// package protocol, and what it means for a person to package view.
package objects
