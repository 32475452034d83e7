// SPDX-License-Identifier: Apache-2.0

// Package rotation has the program choose, which names the rows of k8s/test/e2e that run by
// day beside those that run always.
package rotation
