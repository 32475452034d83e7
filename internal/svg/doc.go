// Package svg writes the elements of a picture, and holds the colours and fonts
// that all pictures of this house share. Every word from outside passes through
// Escape. What a picture shows, and where, its own package knows.
package svg
