// Package ldconf reads the configuration of a dynamic linker, ld.so.conf, as
// ldconfig does, but waits for nothing and ends in any case. Whose files they are,
// a host's or a container's, is the caller's business.
package ldconf
