// Package toml edits single settings of a TOML file and leaves every other byte as it
// is: comments, order, indentation, line ends, a byte order mark, a missing last
// newline. A Document is a text and its statements with their places. An edit replaces
// text at such a place and parses the result. An edit whose result says anything else
// than what was requested is refused, and the Document stays as it was.
//
// Code that reports on a setting or replaces words in a file reads the statements. The
// syntax is the parser's of go-toml; no other package of the module imports it.
package toml
