// Package link makes symbolic links in a container, as a CDI spec asks for them:
// the names by which libraries are looked up.
package link
