// Package jsontree reads a JSON text as a tree of places in it, so that one can
// look at some of its values and leave the others as they stand, byte for byte.
//
// It is stricter than JSON asks for in one thing: a name that occurs twice in an
// object is an error, since readers disagree about which one counts. It knows no
// types and does no I/O.
package jsontree
