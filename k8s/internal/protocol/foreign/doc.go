// SPDX-License-Identifier: Apache-2.0

// Package foreign has what programs of others read and write: the schedulers and plugins of
// HAMi and Koordinator, which choose slices, Kunlunxin's plugin, and kube-scheduler and
// Volcano where they ask an extender. The names and forms are theirs. Parsers keep the rules
// of package protocol, which has the vendor's names and those of this project. The package is
// pure.
package foreign
