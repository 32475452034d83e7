// SPDX-License-Identifier: Apache-2.0

// Package oci reads and edits config.json, the file in a container's bundle from which
// an OCI runtime starts the container: it reads which GPUs the container requests, and
// applies CDI edits.
//
// It edits the text, not a parsed structure: everything that an edit does not concern
// stays as the engine wrote it, byte for byte, including fields unknown to this
// package. It finds no GPUs and resolves no names (package cdi does), and never changes
// seccomp, AppArmor, capabilities, masked paths or the root file system.
package oci
