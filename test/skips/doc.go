// Package skips has the program check, with which CI refuses tests that were skipped.
package skips
