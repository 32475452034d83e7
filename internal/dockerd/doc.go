// Package dockerd asks a docker daemon over its unix socket. It speaks the one
// sentence of HTTP that this takes, because net/http would cost a program that
// starts for every container more time than the question does.
//
// It only asks, never changes anything, and knows nothing of GPUs.
package dockerd
