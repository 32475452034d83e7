// Package standin makes a libmxsml out of a Node, for tests: a real shared library
// that gcc compiles, which tells what the Node says, keeps the slices that are made
// with it, and can be told to fail in every way a library can. No program links
// this package.
package standin
