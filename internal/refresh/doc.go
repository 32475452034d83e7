// SPDX-License-Identifier: Apache-2.0

// Package refresh makes the CDI specs of a node, writes them, waits for a node that is
// still coming up, and compares specs with the ones that the node should have.
//
// What a spec says is the business of internal/cdi; when the specs are made anew, that
// of packaging's units.
package refresh
