// Package dockerd asks a docker daemon over its unix socket. It speaks the few
// sentences of HTTP that this takes, because net/http would cost a program that
// starts for every container more time than the question does.
//
// It changes nothing of anybody's. The one thing that it makes, and removes again,
// is a container that never runs (Create), since a daemon shows the files of an
// image only by way of a container. It knows nothing of GPUs.
package dockerd
