// SPDX-License-Identifier: Apache-2.0

// Package vendorlib compares what discovery finds on simulated hosts with what MetaX's own
// library finds there. The library is not part of the project: its answers are in testdata,
// each with a hash of the files that it was given. METAX_TEST_LIBMXSML names a libmxsml.so,
// over which the tests then run metax-mxsml as root; with -update they write its answers. The
// hosts are there for other tests with the vendor's programs.
package vendorlib
