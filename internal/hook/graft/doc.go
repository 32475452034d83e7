// Package graft puts files of the host into the mount namespace of a container
// that is about to start: device nodes and directories, read-only, by handle.
//
// A Source is a piece of the host's mount tree, taken out of it before anything
// of the container is looked at. Enter takes a thread into the container's mount
// namespace, with a handle on the container's root, and there every target is
// resolved in that root, made if it is missing, and mounted on by its handle. No
// path that an image can bend is ever used twice, and no source is ever one.
//
// What is mounted cannot be written to, and neither can its mode or owner be
// changed; setuid bits and, but for device nodes, devices mean nothing there. Mount
// points are made only on the root's own mount and on file systems in memory that
// are the container's own: never in a volume, which belongs to the host. Nothing
// is mounted where the mount would be seen outside.
//
// Which files, and whether the container may have them, is decided elsewhere; the
// device cgroup is devcgroup's.
package graft
