// Package compose reads a project as docker compose prints it in JSON, finds
// what its services ask for in GPUs, gives every container that asks a service of
// its own, and puts GPUs in.
//
// The package is pure: bytes become a Project, a Project becomes bytes, and what
// it does not know stays as it was. Who runs compose, which containers there are
// and who holds which GPU is the business of the caller.
package compose
