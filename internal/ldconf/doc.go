// Package ldconf reads the configuration of a dynamic linker, ld.so.conf, as ldconfig
// does, but with limits, so that a hostile configuration cannot block or exhaust the
// reader. The caller provides the files, a host's or a container's.
package ldconf
