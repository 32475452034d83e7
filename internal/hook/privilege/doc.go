// Package privilege gives up what a process does not need: capabilities, what
// its parent left open, being looked into, and ever gaining anything back.
package privilege
