// SPDX-License-Identifier: Apache-2.0

// Package koordlet tests the file that the device plugin writes for Koordinator with the
// packages of koordlet that read it and make the Device object of a node from it. The API
// server is client-go's fake.
//
// It is a module of its own because Koordinator needs its own versions of Kubernetes, and cgo
// with the header and the library of libpfm4-dev, which koordlet links for another purpose.
package koordlet
