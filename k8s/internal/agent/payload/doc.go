// SPDX-License-Identifier: Apache-2.0

// Package payload copies directories of payload images to the host, without running anything
// of them. Nothing is known of an image: it can have links that lead out of it, pipes, and
// more entries than fit into memory. What is a payload, and where it goes, is up to the
// agents.
package payload
