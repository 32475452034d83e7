// SPDX-License-Identifier: Apache-2.0

//go:build !race

package lease

const slowness = 1
