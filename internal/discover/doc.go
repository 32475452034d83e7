// Package discover finds out what a host's GPUs are and how they are linked. It
// lays what the vendor's tool (or a recorded Node) knows over what the kernel
// says, and adds the user-space files. What cannot be found out is a warning in
// the Node.
//
// It starts no process, keeps nothing, and chooses nothing: who may run mx-smi
// hands it in, what is written where is the business of the commands.
package discover
