// Package compat judges whether an MXMACA version runs on a driver version, by
// rules that say which driver a version needs at least. It is pure: who reads
// versions, and where further rules come from, is the business of others.
//
// It never guesses. What no rule covers, and what has no version, is Unknown.
package compat
