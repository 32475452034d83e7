// Package terminal is the one rule for what may be printed. Names of containers,
// commands, users and files, labels and the words of other programs come from
// strangers: they may move the cursor, change colors or the writing direction, or
// forge a line of the toolkit. Tables, JSON, warnings and errors of all programs
// pass through here.
package terminal
