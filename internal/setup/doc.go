// SPDX-License-Identifier: Apache-2.0

// Package setup finds this host's engines, sets them up, undoes that, and verifies that
// it works: it knows which engines are installed in which version, which files
// configure them, which changes these need, how an engine is made to read them, and how
// to check the running engine.
//
// The packages below internal/engine parse and edit the files; internal/backup writes
// them.
package setup
