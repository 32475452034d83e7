// SPDX-License-Identifier: Apache-2.0

// Command plain reports Go that is hard to read, in files that are no tests:
//
//	changed     a variable is changed in the init of an if, and something else is tested
//	emptycase   a case in which nothing is done, and no comment says why
//	mixed       && inside || without parentheses
//	positional  four and more fields of a struct by position
//	switchinit  an init in a switch that has no value to compare
//	width       lines of more than 120 columns, comments of more than 95
//
// "go vet -vettool" runs it; on its own, "plain -fix ./..." also fixes what it can.
package main
