// SPDX-License-Identifier: Apache-2.0

package alloc

import "github.com/metax-ctk/container-toolkit/internal/wording"

// SizeRule says what happens if a request is for a number of GPUs that MetaX does not
// recommend.
type SizeRule uint8

// The size rules.
const (
	// Warn answers with a warning.
	Warn SizeRule = iota
	// Off answers without a warning.
	Off
	// Enforce returns an error.
	Enforce
)

var sizeRules = []SizeRule{Warn, Off, Enforce}

var sizeRuleNames = []string{"warn", "off", "enforce"}

// String returns the rule's name: "warn", "off" or "enforce".
func (r SizeRule) String() string { return wording.Name(sizeRuleNames, r) }

// recommended are the numbers of GPUs that MetaX's documents recommend for a job, greatest
// first.
var recommended = []int{8, 4, 2, 1}
