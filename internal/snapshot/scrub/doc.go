// Package scrub says what a snapshot keeps. Of configurations these are the values of
// listed keys (keys.txt), and nothing else. What tells whose node it is in the values
// that are kept, and in plain texts, is replaced by stand-ins: by its form, and by
// what was learned.
package scrub
