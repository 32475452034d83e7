// SPDX-License-Identifier: Apache-2.0

// Package assign decides which container gets which GPU, and takes the leases.
//
// A command makes a Job of its Requests: one for docker run, one for each service of a
// project. NewPlan and NewStart find out what the node can give at all; a Plan never changes.
// Plan.Choose makes a Choice of it, given who uses what. Keeper.Take does so under the lock of
// the leases, Plan.Preview takes nothing. metax-ctk pick and sgpu share the rules. A Keeper
// looks at the state file, the engines and the processes, so that all programs see the same
// holders.
//
// The package knows no command line and prints nothing. How GPUs come into a container
// is decided elsewhere.
package assign
