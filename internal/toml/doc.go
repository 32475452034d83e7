// SPDX-License-Identifier: Apache-2.0

// Package toml edits single settings of a TOML file and leaves every other byte
// unchanged: comments, order, indentation, line ends, a byte order mark, a missing last
// newline. A Document is a text and its statements with their positions. An edit
// replaces text at such a position and parses the result. If the result says anything
// else than what was requested, the edit is refused and the Document stays unchanged.
//
// To report positions or replace words, use the statements. The parser is go-toml's; no
// other package of the module imports it.
package toml
