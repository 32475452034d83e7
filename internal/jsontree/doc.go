// SPDX-License-Identifier: Apache-2.0

// Package jsontree parses a JSON text into a tree of positions, so that code can read
// some values and keep the others byte for byte.
//
// It is stricter than JSON in one point: a duplicate name in an object is an error,
// because parsers disagree about which one counts. It converts no types and does no
// I/O.
package jsontree
