// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

// AskedConfigMap is the name of the ConfigMap in which the scheduler extenders of a cluster
// say which schedulers ask. Its keys are AskedKey and UnaskedKey with the name of a scheduler.
const AskedConfigMap = "metax-gpu-aware-asked"

// The beginnings of the keys: the time of a scheduler's latest question, a minute old at most,
// and the time and the pod, "TIME NAMESPACE/NAME", of the latest that it placed without one.
// The times are RFC 3339.
const (
	AskedKey   = "asked."
	UnaskedKey = "unasked."
)

// NotAskedReason is the reason of the Event about a pod that its scheduler placed without a
// question.
const NotAskedReason = "MetaXGPUNotAsked"

// Asked is what the extenders know of a scheduler that is meant to ask.
type Asked struct {
	Last, Unasked time.Time // zero if there was none
	Pod           string    // that of Unasked, as NAMESPACE/NAME
}

// IsSilent reports whether a scheduler has placed a pod without a question, and has not asked
// since.
func (a Asked) IsSilent() bool { return a.Unasked.After(a.Last) }

// maxSchedulers is how many schedulers are read.
const maxSchedulers = 32

var podPath = regexp.MustCompile(`^[a-z0-9.-]{1,253}/[a-z0-9.-]{1,253}$`)

// ParseAsked reads the data of the ConfigMap, by the names of the schedulers. What is not
// understood counts as absent.
func ParseAsked(data map[string]string) map[string]Asked {
	all := map[string]Asked{}
	for _, key := range slices.Sorted(maps.Keys(data)) {
		value := data[key]
		name, unasked := strings.CutPrefix(key, UnaskedKey)
		if !unasked {
			var asked bool
			if name, asked = strings.CutPrefix(key, AskedKey); !asked {
				continue
			}
		}
		word, pod, _ := strings.Cut(value, " ")
		at, err := time.Parse(time.RFC3339, word)
		a, known := all[name]
		if err != nil || unasked != podPath.MatchString(pod) || (!known && len(all) == maxSchedulers) {
			continue
		}
		if unasked {
			a.Unasked, a.Pod = at, pod
		} else {
			a.Last = at
		}
		all[name] = a
	}
	return all
}
