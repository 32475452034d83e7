// Package doctor finds what is wrong with a node: collectors gather Facts, checks
// judge them, and a Finding says what is wrong, why that matters, and what mends
// it.
//
// A check is a pure function over Facts: it reads no file, runs nothing, and
// says nothing about what could not be found out; that is a finding of its own.
// A check that sees only what follows from another one's finding stays silent,
// so that the cause stands alone.
//
// What is mended without a person is in Step, which is all that this package
// changes. An engine's configuration is never touched.
package doctor
