// SPDX-License-Identifier: Apache-2.0

// Package scrub reduces and anonymizes the files and outputs of a snapshot.
// Configuration files keep only the values of listed keys (keys.txt). In these values
// and in plain texts, words that identify a node or its users are replaced by
// stand-ins: words of a known form, such as UUIDs and addresses, and words that the
// Scrubber was told with Learn.
package scrub
