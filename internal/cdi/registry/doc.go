// Package registry finds what CDI device names bring into a container, in the
// spec directories that engines read and by the rules of the CDI project's
// library. It reads only what the names at hand need, once, and watches nothing:
// it is for programs that live for a millisecond.
package registry
