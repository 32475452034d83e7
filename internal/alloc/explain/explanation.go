// SPDX-License-Identifier: Apache-2.0

package explain

import "github.com/metax-ctk/container-toolkit/internal/alloc/key"

// Explanation says why a set of GPUs was chosen. Its JSON form is a contract: fields are
// only added.
type Explanation struct {
	Policy string        `json:"policy"`
	Chosen key.Candidate `json:"chosen"`
	// RunnerUp is the best other set; nil if no other set meets the request, or if it is not
	// proven that the chosen set is better.
	RunnerUp *key.Candidate `json:"runnerUp,omitempty"`
	// DecidedBy is the first component of Key in which the two differ.
	DecidedBy key.Component `json:"decidedBy,omitempty"`
	// Key lists the components in the order in which the policy compares them.
	Key []key.Component `json:"key"`
	// Exact says that it is proven that no other set is better than the chosen one, and
	// only the chosen one is better than the runner-up.
	Exact bool `json:"exact"`
	// Joint says that the set was chosen together with those of other requests, so a
	// runner-up may be better by itself.
	Joint bool `json:"joint,omitempty"`
}
