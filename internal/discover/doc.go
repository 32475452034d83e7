// Package discover finds out what a host's GPUs are and how they are linked. It
// lays what the vendor's library, or else the vendor's tool mx-smi (or a recorded
// Node) knows over what the kernel says, and adds the user-space files. What
// cannot be found out is a warning in the Node.
//
// It starts no process, loads no library, keeps nothing, and chooses nothing: who
// may run metax-mxsml and mx-smi hands them in, what is written where is the
// business of the commands.
package discover
