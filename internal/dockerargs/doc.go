// SPDX-License-Identifier: Apache-2.0

// Package dockerargs parses and rewrites the command line of docker and of
// docker-compatible clients.
//
// It reads words as docker's flag library does: the flags before the command first,
// then those of run and create up to the image; words after the image are not read.
// Scan finds the options that metax-docker adds. Command.Rewrite replaces them by
// docker's flags and leaves every other word unchanged, byte for byte. Errors that
// docker itself reports well are left to docker.
//
// The package is pure: it starts no process and reads no file or environment, so the
// caller interprets the values of flags, finds the daemon of an endpoint and decides
// what is injected. It runs before every container start, so it has no init work and no
// heavy imports.
package dockerargs
