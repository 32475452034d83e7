// Package ldcache makes a container's dynamic linker know libraries: it writes
// the container's /etc/ld.so.cache, or where else the linker of the image looks for
// it, with the host's ldconfig. Where musl does the linking for programs that were
// made for glibc, it writes musl's search path.
//
// Nothing of the image is executed, and ldconfig, which was not written for
// hostile files, can do no harm: it sees the container's files read-only, in a
// mount namespace of its own that has nothing else, without capabilities but to
// read. Its configuration and its result are files in a memory file system that
// only it has; what the image's configuration says is read by us, and the result
// is put in place by us, through the handle on the root.
package ldcache
