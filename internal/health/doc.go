// SPDX-License-Identifier: Apache-2.0

// Package health decides which GPUs are healthy from a sequence of looks at them. One look is
// what the kernel and the vendor's software report at one time; a single bad answer of a tool
// is not the same as a broken GPU, and a GPU that flickers should not come and go with it.
//
// State.Next is the only rule, and a function of its arguments: a State and a Look give the
// next State. Time, tools and files are those of the callers (package node takes looks). So
// one machine serves metax-ctk health and the Kubernetes device plugin.
package health
