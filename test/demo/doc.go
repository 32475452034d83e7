// SPDX-License-Identifier: Apache-2.0

// Package demo tests ./run, the demo that "make demo" starts.
package demo
