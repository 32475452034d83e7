// SPDX-License-Identifier: Apache-2.0

// Package table picks GPUs on nodes of up to 16 GPUs, exactly and for any links: it
// knows the class, capability, weight and locality (package key) of each of the up to
// 65,536 sets of GPUs, and compares all sets that meet a question. On nodes of up to 8
// GPUs it keeps the answers to all plain questions.
//
// Twins are GPUs whose links with all others have equal ranks: to exchange one for
// another changes GPU numbers and nothing else. So of the sets that differ only in twins
// it compares the one with the lowest numbers.
package table
