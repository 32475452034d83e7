// SPDX-License-Identifier: Apache-2.0

// Package compose reads a project as docker compose prints it in JSON, finds which GPUs
// its services request and how many replicas they have, and renders edits (package edits)
// in a service.
//
// The package is pure: bytes become a Project, a Project becomes bytes, and what it does
// not know stays as it was. Running compose, and finding containers and GPUs in use, is
// up to the caller.
package compose
