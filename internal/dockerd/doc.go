// Package dockerd asks a docker daemon over its unix socket, and finds the daemon that
// docker's client would talk to (Endpoint).
//
// It changes nothing of anybody's. The one thing that it makes, and removes again,
// is a container that never runs (Create), since a daemon shows the files of an
// image only by way of a container. It knows nothing of GPUs.
package dockerd
