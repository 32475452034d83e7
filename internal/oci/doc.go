// Package oci reads and edits config.json, the file in a container's bundle that
// tells an OCI runtime what to start: which GPUs the container asks for, and the
// edits that give them to it.
//
// The text is edited, not a structure that is made of it: whatever an edit does
// not concern stays byte for byte as the engine wrote it, also what this package
// does not know. It finds no GPUs and resolves no names (cdi), and never
// touches seccomp, AppArmor, capabilities, masked paths or the root file system.
package oci
