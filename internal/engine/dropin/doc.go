// Package dropin reads configuration that is spread over several TOML files, which
// an engine reads one after the other, and edits the one of them that belongs to
// the toolkit. Such a file begins with engine.Marker; what else somebody writes
// into it stays theirs.
//
// How an engine finds the files, and what their settings mean, is the business of
// the editors. No file is touched here.
package dropin
