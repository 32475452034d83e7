// SPDX-License-Identifier: Apache-2.0

// Package validate says whether a node can give its MetaX GPUs to containers: the driver, the
// CDI spec and the device plugin. A check looks at files and at the Node object alone: it
// needs no GPU, so it does not matter whether all of them are in use.
//
// The checks are values; Validator reads the host, and tells the result by labels, a file,
// metrics and the log.
package validate
