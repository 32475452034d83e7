// SPDX-License-Identifier: Apache-2.0

package top

import "time"

// Model is the screen.
type Model struct {
	State  State
	Order  Order
	Help   bool
	Offset int // rows that are scrolled away
	// Paused has what was shown when the screen was paused; nil if it is not.
	Paused *Top
}

// Keys that are not characters.
const (
	Up   rune = -1
	Down rune = -2
	Esc  rune = -3
)

// Press returns the model after a key, and whether the key ends the view. Keys without
// a meaning change nothing.
func (m Model) Press(key rune, now time.Time) (after Model, end bool) {
	switch key {
	case 'q', 'Q':
		return m, true
	case 's':
		m.Order = (m.Order + 1) % orders
	case 'p', ' ':
		if m.Paused == nil {
			shown := m.State.Top(now)
			m.Paused = &shown
		} else {
			m.Paused = nil
		}
	case '?', 'h':
		m.Help = !m.Help
	case Esc:
		m.Help = false
	case Up, 'k':
		m.Offset = max(m.Offset-1, 0)
	case Down, 'j':
		m.Offset = min(m.Offset+1, max(len(m.State.Node.GPUs)-1, 0))
	}
	return m, false
}
