package ledger

import "time"

// SetPatience is for tests that cannot wait as long.
func (l *Ledger) SetPatience(d time.Duration) { l.patience = d }
