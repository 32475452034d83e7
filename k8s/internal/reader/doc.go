// SPDX-License-Identifier: Apache-2.0

// Package reader lets a program without privileges know the health of GPUs. Only the vendor's
// software knows it, which needs a privileged container with the vendor's libraries; so a
// Server runs there, and answers a Client in another container of the same pod over HTTP on a
// unix socket:
//
//	GET /v1/look?after=TOKEN   the newest Report; one with TOKEN is not answered until there is
//	                           a newer one, or with 304 after some time
//	GET /v1/readings           what the GPUs measure now, Readings
//	POST /v1/slices            a Change of slices; answers with the node afterwards
//
// The Server takes a look at the GPUs again and again, and at once after an event of the
// kernel. The vendor's software may hang; then looks fail, and answers are given nevertheless.
// Both sides trust the other as little as possible: the Client checks size and content of
// what it reads, and a Server that does not answer is a failed look.
package reader
