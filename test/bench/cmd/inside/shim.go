// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"os"
)

// On a machine that is less than a real node, test/e2e moves runc to realRunc and puts a
// program of its own, the shim, in its place.
const (
	runc     = "/usr/sbin/runc"
	realRunc = runc + ".real"
)

func hasShim() bool {
	_, err := os.Stat(realRunc)
	return err == nil
}

// bareRunc takes the shim out of the way until restore, as on a real node. No container can
// be started meanwhile.
func bareRunc() (restore func() error, err error) {
	if !hasShim() {
		return func() error { return nil }, nil
	}
	const aside = runc + ".shim"
	restore = func() error { return errors.Join(os.Rename(runc, realRunc), os.Rename(aside, runc)) }
	return restore, errors.Join(os.Rename(runc, aside), os.Rename(realRunc, runc))
}
