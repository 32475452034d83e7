// SPDX-License-Identifier: Apache-2.0

// Package discover finds out which GPUs a host has and how they are linked. The kernel
// (package sysfs) provides addresses, device nodes and PCIe positions. The vendor's
// software adds the rest: its library libmxsml (package mxsml) or else its tool mx-smi
// (package mxsmi) or else a Node that was recorded before. Package maca adds the
// user-space files. What cannot be found out is a warning in the Node.
//
// Package discover starts no process, loads no library, writes nothing and chooses no
// GPU: the commands pass in the functions that run metax-mxsml and mx-smi, and they
// write the record.
package discover
