// Package dockerargs reads and rewrites the command line of docker and of
// clients like it.
//
// It reads words as docker's flag library does: the flags before the command
// first, then those of run and create up to the image; nothing after the image
// is looked at. Scan finds the options that metax-docker adds, Command.Rewrite
// puts flags of docker's in their place and leaves every other word as it was,
// byte for byte. Faults that docker reports well itself are left to it.
//
// The package is pure: it starts no process and reads no file or environment,
// so what a flag's value means, which daemon an endpoint is and what is injected
// stay with the caller. It is on the way of every start, and so has neither
// init work nor heavy imports.
package dockerargs
