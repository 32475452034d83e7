// Package tomledit changes single settings of a TOML file and leaves every other
// byte as it is: comments, order, indentation, line ends, a byte order mark, a
// missing last newline. A Document is a text and an index of where its settings
// stand; an edit splices new text in at such a place and reads the result again.
// An edit whose result says anything but what was asked for is refused, and the
// Document stays as it was.
//
// What a setting means for an engine is not known here, and no file is touched.
package tomledit
