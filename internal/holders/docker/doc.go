// Package docker looks at the containers of a docker daemon: which of them have
// GPUs, and which leases' containers are gone for good.
//
// The daemon's list tells everything but devices and restart policies. Those are
// asked for once per container, and again only where they decide: for a
// container with GPUs that does not run. What follows from what is seen is the
// business of package lease.
package docker
