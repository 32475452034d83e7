// SPDX-License-Identifier: Apache-2.0

// Package standin makes a libmxsml of a Node, for tests: a real shared library,
// compiled with gcc, that reports the Node, keeps the slices that are created with it,
// and can be told to fail in every way a library can. No program links this package.
package standin
