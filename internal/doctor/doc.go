// SPDX-License-Identifier: Apache-2.0

// Package doctor finds what is wrong with a node. Collectors gather Facts, checks judge
// them, and a Finding has three parts: what is wrong, why that matters, and the fix.
//
// A check is a pure function over Facts: it reads no file and runs no program. It
// reports nothing about facts that could not be collected; a finding of the check
// "looked" reports these. If several checks see the effects of one cause, only the
// check of the cause reports it.
//
// A Step is a fix that needs no person, and the only change that this package makes.
// doctor never changes an engine's configuration.
package doctor
