// SPDX-License-Identifier: Apache-2.0

// Package request is the grammar of --gpus: it parses the value into a Request, and
// resolves a Request to GPUs of a node. It also has the names under which a container's
// configuration requests devices.
//
// Packages alloc and assign decide which GPUs are free, healthy and well linked;
// package cdi decides how they get into a container.
package request
