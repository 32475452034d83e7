// Package link makes the symbolic links in a container that a CDI spec requests: the
// names by which programs look up libraries.
package link
