// SPDX-License-Identifier: Apache-2.0

// Package bundle decides what a container gets that an engine hands over as an OCI bundle: the
// edits that its configuration requests, and which of them a prestart hook has to make,
// because neither the engine nor an earlier stage made them.
//
// metax-runtime and metax-hook share it. Reading and editing config.json is package oci's,
// what happens inside a container's root package hook's.
package bundle
