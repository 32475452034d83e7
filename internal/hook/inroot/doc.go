// Package inroot is a handle on the root of a container that is about to start,
// and everything that a hook does to the files below it.
//
// The image decides what stands there, and somebody may move it about while we
// look. So no path is checked first and used later: a path is resolved once, by
// the kernel, as the container would after its chroot, to a handle; and what
// follows is done to that handle. Links never lead out, also not those of /proc.
//
// It makes files, directories and links. It never removes a tree, and never
// changes the mode or the owner of what was there before.
package inroot
