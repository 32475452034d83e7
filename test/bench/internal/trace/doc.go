// Package trace sends a trace of jobs through a simulated node, once by each of
// several policies, and measures what came of it: how many jobs ran, how well
// they were linked, how long they waited, and how broken up the free GPUs were.
//
// A trace says when each job arrives, how many GPUs it requests and for how long. It
// is read from CSV, or made at random from a stated seed. A simulated job takes
// its GPUs when it starts and gives them back when its duration is over; it is
// never moved or stopped. Package alloc picks the GPUs.
//
// The package is pure: no clock, no files, and no randomness but that of the
// seed. The same trace gives the same figures and the same bytes. Real nodes,
// containers and leases do not belong here.
package trace
