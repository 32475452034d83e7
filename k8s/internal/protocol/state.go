// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"encoding/json"
	"strconv"
)

// NodeState is the value of StateAnnotation: which GPUs of the NodeTopology can be given now.
// The lists are ascending, and have the numbers of the NodeTopology.
type NodeState struct {
	// Generation grows with each change.
	Generation int64
	Free       []int // healthy, and not in use
	Unhealthy  []int // in use or not
	Outside    []int // in use by others than pods, as by a lease of the node tool
	// GPUs is how many there are.
	GPUs int
}

// stateText is the annotation. A mask has a hexadecimal digit for each four GPUs, the last
// digit for GPUs 0 to 3, of which GPU 0 is the lowest bit.
type stateText struct {
	Generation int64  `json:"generation"`
	GPUs       int    `json:"gpus"`
	Free       string `json:"free"`
	Unhealthy  string `json:"unhealthy"`
	Outside    string `json:"outside"`
}

// String returns the annotation.
func (s NodeState) String() string {
	text, err := json.Marshal(stateText{
		Generation: s.Generation, GPUs: s.GPUs, Free: mask(s.Free, s.GPUs),
		Unhealthy: mask(s.Unhealthy, s.GPUs), Outside: mask(s.Outside, s.GPUs),
	})
	if err != nil {
		return "" // does not happen: there are only numbers and strings
	}
	return string(text)
}

// maxStateText is enough for the largest node.
const maxStateText = 1 << 10

// ParseNodeState reads a StateAnnotation of a node with that number of GPUs. The error is an
// ErrAnnotation.
func ParseNodeState(text string, gpus int) (NodeState, error) {
	if len(text) > maxStateText {
		return NodeState{}, Invalid(StateAnnotation, "%d bytes; at most %d are read", len(text), maxStateText)
	}
	var t stateText
	if err := json.Unmarshal([]byte(text), &t); err != nil {
		return NodeState{}, Invalid(StateAnnotation, "%.200q", err.Error())
	}
	if t.GPUs != gpus || t.Generation < 0 {
		return NodeState{}, Invalid(StateAnnotation, "%d GPUs, generation %d; want %d GPUs", t.GPUs, t.Generation, gpus)
	}
	s := NodeState{Generation: t.Generation, GPUs: gpus}
	for _, part := range []struct {
		text string
		to   *[]int
	}{{t.Free, &s.Free}, {t.Unhealthy, &s.Unhealthy}, {t.Outside, &s.Outside}} {
		list, err := parseMask(part.text, gpus)
		if err != nil {
			return NodeState{}, err
		}
		*part.to = list
	}
	return s, nil
}

// mask returns a mask for a number of GPUs, at least one digit.
func mask(list []int, gpus int) string {
	digits := make([]byte, max(1, (gpus+3)/4))
	for _, i := range list {
		digits[len(digits)-1-i/4] |= 1 << (i % 4)
	}
	for i, d := range digits {
		digits[i] = "0123456789abcdef"[d]
	}
	return string(digits)
}

func parseMask(text string, gpus int) (list []int, err error) {
	if want := max(1, (gpus+3)/4); len(text) != want {
		return nil, Invalid(StateAnnotation, "mask %.40q; want %d digits", text, want)
	}
	for i := range gpus {
		digit := text[len(text)-1-i/4]
		v, err := strconv.ParseUint(string(digit), 16, 8)
		if err != nil {
			return nil, Invalid(StateAnnotation, "mask %.40q is not hexadecimal", text)
		}
		if v>>(i%4)&1 == 1 {
			list = append(list, i)
		}
	}
	if mask(list, gpus) != text {
		return nil, Invalid(StateAnnotation, "mask %.40q is not one of %d GPUs in small letters", text, gpus)
	}
	return list, nil
}

// Generation returns the generation of a StateAnnotation, whatever its other fields are; 0 if
// it has none that is valid.
func Generation(text string) int64 {
	var t stateText
	if len(text) > maxStateText || json.Unmarshal([]byte(text), &t) != nil {
		return 0
	}
	return max(0, min(t.Generation, 1<<62))
}
