// SPDX-License-Identifier: Apache-2.0

package ledger

import "time"

// SetLockTimeout is for tests that cannot wait as long.
func (l *Ledger) SetLockTimeout(d time.Duration) { l.lockTimeout = d }
