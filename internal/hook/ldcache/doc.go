// SPDX-License-Identifier: Apache-2.0

// Package ldcache makes a container's dynamic linker find libraries: it writes the
// container's /etc/ld.so.cache, or the file in which the image's linker looks instead,
// with the host's ldconfig. Where musl links programs that were built for glibc, it
// writes musl's search path.
//
// It executes nothing of the image. The host's ldconfig was not written for hostile
// files, so it runs in a jail: a mount namespace in which it sees only the container's
// files, read-only, and no capability but to read. Its configuration and its result are
// in a memory file system that only it has. This package reads the image's
// configuration itself, and writes the result through the handle on the root.
package ldcache
